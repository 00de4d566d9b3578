var t=null;try{t=localStorage.getItem("imprint.theme")}catch{}(t==="light"||t==="dark")&&(document.documentElement.dataset.theme=t);
