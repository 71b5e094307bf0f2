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
