/** The Studio: where authors write, publish, see their income and edit their profile. */

import { render } from "preact";
import { Frame } from "./frame.tsx";
import { followAddress } from "./routes.ts";

const place = document.getElementById("studio");
if (place) {
  followAddress();
  render(<Frame />, place);
}
