// By keyboard one can scroll only what can have the focus: the theme's frames around wide tables, and code, from which
// the theme takes the focus where nobody has a mouse.
const reach = () => {
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((frame) => {
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", "table");
  });
  document.querySelectorAll("pre > code:not([tabindex])").forEach((code) => {
    code.tabIndex = 0;
  });
};
const changes = { attributes: true, attributeFilter: ["tabindex"], childList: true, subtree: true };
new MutationObserver(reach).observe(document.body, changes);
reach();
