import{d as a,e as b}from"./part-ZHH2GZYI.js";import"./part-S3OVHGAZ.js";import"./part-K4SABGCS.js";export{a as NotCopied,b as copyText};
