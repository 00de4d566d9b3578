import{d as a,e as b}from"./part-H65DL5CN.js";import"./part-X2FBP7QY.js";export{a as NotCopied,b as copyText};
