import type { Page } from 'playwright-core';

/** What is open covers the rest. */
const topmost = `() =>
  document.querySelector('[role=menu], [role=listbox]') ??
  document.activeElement?.closest('dialog:modal') ??
  [...document.querySelectorAll('dialog:modal')].at(-1) ??
  document.body`;

/** What a finger, a notch or a narrow window makes of the page as it is shown now; one sentence each. */
export async function layoutFaults(page: Page): Promise<string[]> {
  // A page that is too wide makes the window of a phone as wide.
  return page.evaluate<string[]>(`(${look})(${page.viewportSize()?.width})`);
}

/** Text fields that are not to be seen when they have the focus, in the space that a keyboard leaves. */
export async function hiddenFields(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const scope = (${topmost})();
    const text = 'textarea, input:not([type=hidden], [type=checkbox], [type=radio], [type=range], [type=color], [type=file])';
    const fields = [...scope.querySelectorAll(text)].filter(
      (field) => !field.disabled && !field.closest('[inert]') && field.checkVisibility({ visibilityProperty: true }),
    );
    return fields.flatMap((field) => {
      // One that has the focus already would not be scrolled to.
      field.blur();
      field.focus();
      const { left, right, top, bottom } = field.getBoundingClientRect();
      const [first, last] = [Math.max(top, 0), Math.min(bottom, visualViewport.height)];
      const isSeen = last - first >= 40 && document.elementFromPoint((left + right) / 2, first + 20) === field;
      const name = field.labels?.[0]?.innerText ?? field.ariaLabel;
      return isSeen ? [] : [name + ' is not visible with a keyboard: ' + top + ' to ' + bottom];
    });
  })()`);
}

/** Runs in the page. Scrolls to each target, so that nothing counts as covered that can be uncovered. */
const look = String.raw`function (width) {
  const least = 44;
  // A hair less is due to fractions of a pixel.
  const hair = 0.6;
  const faults = new Set();
  const root = document.documentElement;
  const scope = (${topmost})();
  const name = (element) => {
    const label = element.getAttribute('aria-label') ?? element.labels?.[0]?.innerText ?? element.innerText ?? '';
    const [line] = label.trim().split('\n');
    const classes = [...element.classList].filter((one) => one !== 'svelte' && !/^svelte-/.test(one));
    return '<' + [element.localName, element.type ?? element.role, ...classes].filter(Boolean).join(' ') + '> ' + line.slice(0, 40);
  };
  const inset = (side) => Number.parseFloat(getComputedStyle(probe)['padding' + side]) || 0;
  const probe = document.createElement('div');
  probe.style.cssText =
    'position:fixed;visibility:hidden;padding:env(safe-area-inset-top) env(safe-area-inset-right) env(safe-area-inset-bottom) env(safe-area-inset-left)';
  document.body.append(probe);
  // Other pages are kept inside of it by the browser.
  const covers = /viewport-fit=cover/.test(document.querySelector('meta[name=viewport]').content);
  const safe = {
    left: covers ? inset('Left') : 0,
    top: covers ? inset('Top') : 0,
    right: width - (covers ? inset('Right') : 0),
    bottom: innerHeight - (covers ? inset('Bottom') : 0),
  };
  probe.remove();

  if (root.scrollWidth > width || document.body.scrollWidth > width)
    faults.add('the page is ' + Math.max(root.scrollWidth, document.body.scrollWidth) + ' wide in a window of ' + width);
  for (const side of [root, document.body])
    if (getComputedStyle(side).overscrollBehaviorY === 'auto') faults.add('pulling <' + side.localName + '> down reloads the page');
  // What scrolls is inside of such a page, and inside of a dialog.
  const whole = [...(document.querySelector('.window-height') ? [root] : []), ...document.querySelectorAll('dialog:modal')];
  for (const element of whole)
    if (element.scrollHeight > element.clientHeight)
      faults.add(name(element) + ' scrolls: ' + element.scrollHeight + ' in ' + element.clientHeight);

  // A row or a table may scroll to the side; what scrolls down must not do both.
  for (const element of scope.querySelectorAll(':not(textarea, pre, code, input)')) {
    if (element.scrollWidth <= element.clientWidth + 1 || element.scrollHeight <= element.clientHeight + 1) continue;
    if (/auto|scroll/.test(getComputedStyle(element).overflowX))
      faults.add(name(element) + ' scrolls to the side: ' + element.scrollWidth + ' in ' + element.clientWidth);
  }

  const selector =
    'button, a[href], input:not([type=hidden]), select, textarea, summary, [role=tab], [role=option], [role=menuitem], [role=button]';
  const inText = (element) => {
    if (element.localName !== 'a' && element.localName !== 'button') return false;
    if (getComputedStyle(element).display !== 'inline') return false;
    return [...element.parentNode.childNodes].some((node) => node.nodeType === 3 && node.data.trim().length > 1);
  };
  const targets = [...scope.querySelectorAll(selector)].filter((element) => {
    if (element.closest('[inert], .skip')) return false;
    if (element.disabled || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
    return !inText(element);
  });
  for (const target of targets) {
    // A hidden input is used by its label.
    const labels = [...(target.labels ?? [])].filter((label) => label.checkVisibility({ visibilityProperty: true }));
    const isToggle = /checkbox|radio|file/.test(target.type);
    const tiny = target.getBoundingClientRect();
    const element = tiny.width > 1 && tiny.height > 1 ? target : isToggle ? labels[0] : undefined;
    if (!element) continue;
    const parts = [target, ...(isToggle ? labels : [])];
    const hits = (x, y) => {
      const hit = document.elementFromPoint(x, y);
      return hit !== null && (parts.some((part) => part.contains(hit)) || (hit.closest('label')?.control ?? null) === target);
    };
    element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const box = element.getBoundingClientRect();
    const middle = {
      x: Math.min(Math.max((box.left + box.right) / 2, 1), innerWidth - 1),
      y: (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2,
    };
    if (!hits(middle.x, middle.y)) {
      const cover = document.elementFromPoint(middle.x, middle.y);
      faults.add(name(target) + ' is covered by ' + (cover ? name(cover) : 'nothing'));
      continue;
    }
    for (const [side, size] of [['width', box.width], ['height', box.height]]) {
      if (size >= least - hair) continue;
      const far = (least - hair) / 2;
      const hit = side === 'width'
        ? hits(middle.x - far, middle.y) && hits(middle.x + far, middle.y)
        : hits(middle.x, middle.y - far) && hits(middle.x, middle.y + far);
      // A label of the same row may be the larger part of the target.
      const whole = parts.map((part) => part.getBoundingClientRect());
      const union = side === 'width'
        ? Math.max(...whole.map(({ right }) => right)) - Math.min(...whole.map(({ left }) => left))
        : Math.max(...whole.map(({ height }) => height));
      if (!hit && union < least - hair) faults.add(name(target) + ' is ' + Math.round(size) + ' in ' + side);
    }
    const outside =
      box.left < safe.left - 1 || box.right > safe.right + 1 || (box.height < safe.bottom - safe.top && (box.top < safe.top - 1 || box.bottom > safe.bottom + 1));
    if (outside) faults.add(name(target) + ' is outside of the safe area: ' + [box.left, box.top, box.right, box.bottom].map(Math.round).join(' '));
  }
  return [...faults];
}`;
