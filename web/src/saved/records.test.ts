import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { Chat } from '../conversations/conversation.ts';
import { chatShape } from '../conversations/merge.ts';
import { emptyChat, withChange, withoutTurn, withTurn } from '../conversations/tree.ts';
import { fakePage } from '../testing/page.ts';
import type { Records } from './records.svelte.ts';
import { memoryStore } from './testing/memory-store.ts';

const turnOf = (id: string, parent: string | null, text = id) => ({ id, parent, role: 'user', text, at: 1 }) as const;
const start = ['b', 'c', 'd'].reduce(
  (chat, id, index) => withTurn(chat, turnOf(id, ['a', 'b', 'c'][index] ?? null)),
  withTurn(emptyChat('chat', 0), turnOf('a', null)),
);

interface World {
  readonly tabs: readonly Records<Chat>[];
  readonly stored: Map<string, unknown>;
  /** Lets one waiting transaction or message go on; false if there is none. */
  step(choice: number): boolean;
  settle(): Promise<void>;
}

/** Tabs with one database. Transactions and messages wait until the test lets them go on, in any order. */
async function world(count: number, chats: readonly Chat[] = [start]): Promise<World> {
  fakePage();
  vi.doUnmock('./record-store.ts');
  const { Records } = await import('./records.svelte.ts');
  const stored = new Map<string, unknown>(chats.map((chat) => [chat.id, chat]));
  const waiting: (() => void)[] = [];
  // Messages of one tab to another arrive in order, those of different tabs in any order.
  const channels: { onmessage: ((event: MessageEvent) => void) | null; inboxes: (() => void)[][] }[] = [];
  let free = true;
  const tabs = Array.from({ length: count }, (_, index) => {
    const channel = {
      onmessage: null,
      inboxes: Array.from({ length: count }, () => []),
      postMessage: (data: unknown) => {
        const copy = structuredClone(data);
        for (const [at, other] of channels.entries())
          if (at !== index) other.inboxes[index]?.push(() => other.onmessage?.({ data: copy } as MessageEvent));
      },
    };
    channels.push(channel as never);
    const turn = (): Promise<void> => (free ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)));
    const store = memoryStore<Chat>(stored, chatShape, { turn });
    return new Records<Chat>('chats', { shape: chatShape, store, tabs: channel as never, tab: `${index}` });
  });
  for (const tab of tabs) await tab.load();
  free = false;
  const step = (choice: number): boolean => {
    const inboxes = channels.flatMap(({ inboxes: all }) => all).filter((inbox) => inbox.length > 0);
    const size = waiting.length + inboxes.length;
    if (size === 0) return false;
    const at = choice % size;
    if (at < waiting.length) waiting.splice(at, 1)[0]?.();
    else inboxes[at - waiting.length]?.shift()?.();
    return true;
  };
  const idle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
  return {
    tabs,
    stored,
    step,
    settle: async () => {
      do await idle();
      while (step(0));
    },
  };
}

type Action =
  | { readonly kind: 'edit' | 'add' | 'delete' | 'rename' | 'file'; readonly tab: number; readonly turn: string }
  | { readonly kind: 'step'; readonly choice: number };

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('edit', 'add', 'delete', 'rename', 'file'),
    tab: fc.nat(2),
    turn: fc.constantFrom('a', 'b', 'c', 'd'),
  }),
  fc.record({ kind: fc.constant('step' as const), choice: fc.nat(20) }),
);

describe('Records in several tabs', () => {
  test('all tabs converge, and nothing that was written is lost, in any order of transactions and messages', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 30 }), async (actions) => {
        const { tabs, stored, step, settle } = await world(3);
        const added = new Set<string>();
        const edited = new Map<string, Set<string>>();
        for (const [index, one] of actions.entries()) {
          if (one.kind === 'step') {
            step(one.choice);
            await Promise.resolve();
            continue;
          }
          const tab = tabs[one.tab];
          const chat = tab?.find('chat');
          if (!tab || !chat) continue;
          const has = chat.turns[one.turn] !== undefined;
          if (one.kind === 'rename') tab.change('chat', (now) => ({ ...now, title: `t${index}`, titled: true }));
          else if (one.kind === 'file') tab.change('chat', (now) => ({ ...now, folder: `f${index}` }));
          else if (one.kind === 'add' && has) {
            added.add(`n${index}`);
            tab.change('chat', (now) => withTurn(now, turnOf(`n${index}`, one.turn)));
          } else if (one.kind === 'edit' && has) {
            edited.set(one.turn, (edited.get(one.turn) ?? new Set()).add(`e${index}`));
            tab.change('chat', (now) => withChange(now, one.turn, { text: `e${index}` }));
          } else if (one.kind === 'delete' && has && added.size + edited.size === 0)
            tab.change('chat', (now) => withoutTurn(now, one.turn));
        }
        await settle();
        const final = stored.get('chat') as Chat;
        for (const tab of tabs) expect(tab.find('chat')).toEqual(final);
        for (const id of added) expect(final.turns[id]).toBeDefined();
        for (const [id, texts] of edited) expect([...texts]).toContain(final.turns[id]?.text);
        for (const { parent } of Object.values(final.turns))
          if (parent !== null) expect(final.turns[parent]).toBeDefined();
      }),
      { numRuns: 30 },
    );
  });

  test('edits of different turns have the same result in any order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(20), { maxLength: 12 }), async (choices) => {
        const { tabs, stored, step, settle } = await world(2);
        tabs[0]?.change('chat', (now) => withChange(now, 'a', { text: 'first tab' }));
        tabs[1]?.change('chat', (now) => withChange(now, 'c', { text: 'second tab' }));
        for (const choice of choices) {
          step(choice);
          await Promise.resolve();
        }
        tabs[1]?.change('chat', (now) => ({ ...now, folder: 'F' }));
        await settle();
        const { turns, folder } = stored.get('chat') as Chat;
        expect([turns.a?.text, turns.c?.text, folder]).toEqual(['first tab', 'second tab', 'F']);
      }),
      { numRuns: 30 },
    );
  });

  test('a removal hides the record in all tabs', async () => {
    const { tabs, stored, settle } = await world(2);
    void tabs[0]?.remove('chat');
    await settle();
    expect(stored.size).toBe(0);
    expect(tabs.map((tab) => tab.all)).toEqual([[], []]);
  });

  test('a change by a tab that does not know of the removal brings the whole record back', async () => {
    const { tabs, stored, step, settle } = await world(2);
    void tabs[0]?.remove('chat');
    await Promise.resolve();
    step(0);
    tabs[1]?.change('chat', (now) => withTurn(now, turnOf('e', 'd')));
    await settle();
    expect(Object.keys((stored.get('chat') as Chat).turns)).toEqual(['a', 'b', 'c', 'd', 'e']);
    for (const tab of tabs) expect(tab.find('chat')).toEqual(stored.get('chat'));
  });

  test('a removal does not win over a change that the tab has not seen', async () => {
    const { tabs, stored, step, settle } = await world(2);
    tabs[1]?.change('chat', (now) => withTurn(now, turnOf('e', 'd')));
    await Promise.resolve();
    step(0);
    void tabs[0]?.remove('chat');
    await settle();
    expect((stored.get('chat') as Chat).turns.e).toBeDefined();
    for (const tab of tabs) expect(tab.find('chat')).toEqual(stored.get('chat'));
  });

  test('a record that was put back after its removal is in all tabs', async () => {
    const { tabs, settle } = await world(2);
    void tabs[0]?.remove('chat');
    tabs[0]?.put(start);
    await settle();
    for (const tab of tabs) expect(tab.find('chat')).toEqual(start);
  });

  test('onChange: tells where a change was made', async () => {
    const { tabs, settle } = await world(2);
    const heard: unknown[][] = [[], []];
    for (const [index, tab] of tabs.entries())
      tab.onChange((id, record, origin) => heard[index]?.push([id, record?.folder, origin]));
    tabs[0]?.change('chat', (now) => ({ ...now, folder: 'F' }));
    await settle();
    await tabs[1]?.merge({ ...start, folder: 'Old', changedAt: -1 });
    await tabs[1]?.merge({ ...withTurn(start, turnOf('z', 'd')), changedAt: -1 });
    await settle();
    expect(heard[0]).toEqual([
      ['chat', 'F', 'here'],
      ['chat', 'F', 'tab'],
    ]);
    expect(heard[1]).toEqual([
      ['chat', 'F', 'tab'],
      ['chat', 'F', 'merge'],
    ]);
    expect(tabs[0]?.find('chat')?.turns.z).toBeDefined();
  });
});
