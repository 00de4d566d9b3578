// The results of siwe for the cases of test_siwe.py.
import { SiweMessage } from "siwe";
import { serve } from "./batches.mjs";

await serve({
  messages: (text) => Object.fromEntries(Object.entries(new SiweMessage(text)).filter(([, value]) => value !== undefined)),
});
