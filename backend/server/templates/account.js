// Shows and hides the password. Browsers offer to save a password only if the field hides it when the form is sent.
const field = document.getElementById("password");
const button = document.getElementById("show-password");
const show = (isShown) => {
  field.type = isShown ? "text" : "password";
  button.textContent = isShown ? button.dataset.hide : button.dataset.show;
};
button.addEventListener("click", () => show(field.type === "password"));
field.form.addEventListener("submit", () => show(false));
button.hidden = false;

// Leads back to the message that a permanent link names: browsers keep the fragment of a redirected address to
// themselves, so only this page can pass it on.
const next = field.form.elements.next;
const away = document.querySelector(".account-away a");
if (next && location.hash && !next.value.includes("#")) {
  next.value += location.hash;
  if (away) {
    const address = new URL(away.href);
    address.searchParams.set("next", next.value);
    away.href = address.href;
  }
}
