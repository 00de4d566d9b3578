import{j as a,k as b,l as c,m as d}from"./part-S5IE4CXY.js";import"./part-R4T2QJF2.js";export{d as ccipRequest,c as offchainLookup,b as offchainLookupAbiItem,a as offchainLookupSignature};
