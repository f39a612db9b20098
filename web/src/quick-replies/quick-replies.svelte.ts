import { Records } from '../saved/records.svelte.ts';
import type { QuickReply } from './sets.ts';

interface QuickReplyList {
  readonly id: string;
  readonly changedAt: number;
  readonly replies: readonly QuickReply[];
}

const lists = new Records<QuickReplyList>('quick-replies');
const all = 'all';

export function quickReplies(): readonly QuickReply[] {
  return lists.find(all)?.replies ?? [];
}

export function loadQuickReplies(): Promise<void> {
  return lists.load();
}

export function changeQuickReplies(make: (replies: readonly QuickReply[]) => readonly QuickReply[]): void {
  lists.put({ id: all, changedAt: Date.now(), replies: make(quickReplies()) });
}

export async function addQuickReplies(added: readonly QuickReply[]): Promise<void> {
  await lists.load();
  changeQuickReplies((now) => [...now, ...added]);
}
