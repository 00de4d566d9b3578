"""How a page is painted: largest paints, layout shifts, and render-blocking resources."""

OBSERVE = """
window.__shifts = [];
window.__paints = [];
new PerformanceObserver((list) => {
  for (const shift of list.getEntries())
    if (!shift.hadRecentInput)
      window.__shifts.push(shift.sources.map(({node}) => `${shift.value} ${node?.outerHTML}`));
}).observe({type: "layout-shift", buffered: true});
new PerformanceObserver((list) => {
  for (const paint of list.getEntries())
    window.__paints.push({
      milliseconds: paint.startTime,
      text: paint.element?.textContent.trim() ?? "",
      address: paint.url,
    });
}).observe({type: "largest-contentful-paint", buffered: true});
"""
"""Init script that collects layout shifts and each largest paint so far."""

SHIFTS = "window.__shifts"
PAINTS = "window.__paints"
HAS_PAINTED = "() => window.__paints.length > 0"

TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""A promise that resolves once earlier changes are painted."""

BLOCKING = """
performance.getEntriesByType("resource")
  .filter(({renderBlockingStatus}) => renderBlockingStatus === "blocking")
  .map(({name}) => new URL(name).pathname)
"""
"""The paths of the render-blocking resources."""
