import{a,b}from"./part-OMQDUGL7.js";import"./part-HSDXTMX7.js";import"./part-SAKBMSFF.js";import"./part-UD63KIKE.js";import"./part-VYMPKDAP.js";export{a as offerSamples,b as sampleItem};
