import { texts } from './texts.ts';

/** Clicks in rendered text: copies code, and goes from footnotes to their text and back. */
export function clicked(event: MouseEvent): void {
  const target = event.target instanceof Element ? event.target : undefined;
  const copy = target?.closest('.copy-code');
  if (copy) void copyCode(copy);
  const note = target?.closest<HTMLElement>('button[data-to]');
  if (note) goTo(note);
}

async function copyCode(button: Element): Promise<void> {
  const code = button.closest('.code')?.querySelector('code');
  if (!code) return;
  try {
    await navigator.clipboard.writeText(code.textContent ?? '');
    button.textContent = texts.copied;
  } catch {
    button.textContent = texts.cannotCopy;
  }
  setTimeout(() => {
    button.textContent = texts.copyCode;
  }, 1500);
}

function goTo(button: HTMLElement): void {
  const { to = '' } = button.dataset;
  const kind = button.closest('.footnote') ? '.footnote-reference' : '.footnote';
  const placeholder = [...(button.closest('.markdown')?.querySelectorAll<HTMLElement>(kind) ?? [])].find(
    ({ dataset }) => dataset.note === to,
  );
  placeholder?.querySelector('button')?.focus({ preventScroll: true });
  placeholder?.scrollIntoView({ block: 'nearest' });
}
