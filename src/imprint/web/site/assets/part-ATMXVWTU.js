var s=e=>new Promise(o=>setTimeout(o,e));export{s as a};
