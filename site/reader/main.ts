import "../wallet/index.ts";
