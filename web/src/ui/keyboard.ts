/** What is less is a bar of the browser. */
const minKeyboard = 120;

/**
 * The keyboard of iOS lies over the page, which moves up as far as the caret: what is below the field would be covered. The page
 * is made lower instead (`--keyboard`), as it is elsewhere by `interactive-widget` of the viewport.
 */
export function followKeyboard(): () => void {
  const { visualViewport: viewport } = window;
  const { documentElement: root } = document;
  if (!viewport) return () => {};
  const fit = (): void => {
    // An enlarged page shows a part of itself, too.
    const covered = viewport.scale > 1.01 ? 0 : root.clientHeight - viewport.height;
    const isOpen = covered > minKeyboard;
    root.toggleAttribute('data-keyboard', isOpen);
    root.style.setProperty('--keyboard', isOpen ? `${covered}px` : '0px');
    if (isOpen) scrollTo(0, 0);
  };
  viewport.addEventListener('resize', fit);
  return () => viewport.removeEventListener('resize', fit);
}
