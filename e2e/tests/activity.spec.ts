// What the page says while nothing of an answer comes.

import { ChatPage } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true });
