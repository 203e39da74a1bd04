"use strict";
// The contents tell where the reader is, and a box that needs no scrolling is no stop of the keyboard.
(() => {
  const links = new Map();
  document.querySelectorAll(".contents a").forEach((link) => links.set(link.hash.slice(1), link));
  const here = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  document.querySelectorAll("main > [id]").forEach((part) => here.observe(part));

  const wide = new ResizeObserver((entries) => {
    for (const { target: box } of entries) {
      const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
      if (scrolls) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  });
  document.querySelectorAll(".scroll, pre").forEach((box) => wide.observe(box));
})();
