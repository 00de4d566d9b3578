// The page's side of the wallet: an EIP-1193 provider, announced by EIP-6963.
(() => {
  const listeners = new Map();
  const provider = {
    async request({ method, params }) {
      const given = JSON.stringify(params ?? []);
      let said = await window.__walletRequest(method, given, 0);
      for (let looks = 1; said.undecided; looks += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        said = await window.__walletRequest(method, given, looks);
      }
      if (said.error) {
        const { code, data, message } = said.error;
        throw Object.assign(new Error(message), { code, data });
      }
      return said.result;
    },
    on(event, listener) {
      if (!listeners.has(event)) listeners.set(event, new Set());
      listeners.get(event).add(listener);
      return provider;
    },
    removeListener(event, listener) {
      listeners.get(event)?.delete(listener);
      return provider;
    },
  };
  window.__walletEmit = (event, value) => {
    for (const listener of listeners.get(event) ?? []) listener(value);
  };
  const icon = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'/>";
  const info = Object.freeze({
    uuid: "350670db-19fa-4704-a166-e52e178b59d2",
    name: "Test Wallet",
    icon,
    rdns: "org.example.wallet",
  });
  const announce = () => {
    const detail = Object.freeze({ info, provider });
    window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
  };
  window.addEventListener("eip6963:requestProvider", announce);
  announce();
})();
