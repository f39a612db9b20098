import { sentenceOf } from '../api/failure.ts';
import { texts } from './texts.ts';

interface Notice {
  readonly id: number;
  readonly kind: 'good' | 'bad';
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
  /** Until it is dismissed. */
  readonly stays?: boolean;
}

export const notices = $state<{ list: Notice[] }>({ list: [] });
let last = 0;

export function notify(text: string, options: Partial<Pick<Notice, 'kind' | 'action' | 'stays'>> = {}): void {
  last += 1;
  const notice: Notice = { id: last, kind: 'good', text, ...options };
  notices.list = [...notices.list.filter((other) => other.text !== text), notice].slice(-4);
  if (!notice.stays) setTimeout(() => dismiss(notice.id), notice.kind === 'bad' || notice.action ? 12_000 : 4000);
}

/** Shows what was done, and a button that undoes it. */
export function notifyUndo(text: string, run: () => void): void {
  notify(text, { action: { label: texts.undo, run } });
}

/** Shows an error. Aborts are not reported: the person caused them. */
export function notifyFailure(thrown: unknown): void {
  if (thrown instanceof DOMException && thrown.name === 'AbortError') return;
  notify(sentenceOf(thrown), { kind: 'bad' });
}

/** Does something, and shows an error if that fails. */
export async function reported(work: () => Promise<unknown>): Promise<void> {
  await work().catch(notifyFailure);
}

export function dismiss(id: number): void {
  notices.list = notices.list.filter((notice) => notice.id !== id);
}
