import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Chat, Turn } from './conversation.ts';
import {
  branchesOf,
  emptyChat,
  forked,
  leafOf,
  openComparison,
  pathOf,
  pathTo,
  renamed,
  titleFrom,
  withChange,
  withChosen,
  withoutMessage,
  withoutTurn,
  withTurn,
} from './tree.ts';

let clock = 0;
function turn(id: string, parent: string | null, role: Turn['role'] = 'user', text = id): Turn {
  clock += 1;
  return { id, parent, role, text, at: clock };
}
const grown = (...turns: Turn[]): Chat => turns.reduce(withTurn, emptyChat('c', 0));
const ids = (turns: readonly Turn[]): string[] => turns.map(({ id }) => id);

describe('chat tree', () => {
  test('pathOf returns the chosen turns in order', () => {
    const chat = grown(turn('a', null), turn('b', 'a', 'assistant'), turn('c', 'b'));
    expect(ids(pathOf(chat))).toEqual(['a', 'b', 'c']);
    expect(leafOf(chat)?.id).toBe('c');
  });

  test('withTurn shows a new version without the turns after the old one', () => {
    const chat = grown(turn('a', null), turn('b', 'a', 'assistant'), turn('c', 'b'), turn('b2', 'a', 'assistant'));
    expect(ids(pathOf(chat))).toEqual(['a', 'b2']);
    expect(ids(branchesOf(chat).get('a') ?? [])).toEqual(['b', 'b2']);
  });

  test('withChosen shows a branch with its following turns', () => {
    const chat = grown(turn('a', null), turn('b', 'a', 'assistant'), turn('c', 'b'), turn('b2', 'a', 'assistant'));
    expect(ids(pathOf(withChosen(chat, 'b')))).toEqual(['a', 'b', 'c']);
  });

  test('withChosen chooses the whole path to a turn', () => {
    const chat = grown(turn('a', null), turn('b', 'a'), turn('c', 'b'), turn('a2', null), turn('d', 'a2'));
    expect(ids(pathOf(withChosen(chat, 'c')))).toEqual(['a', 'b', 'c']);
    expect(ids(pathTo(chat, 'c'))).toEqual(['a', 'b', 'c']);
  });

  test('openComparison: only while its replies are the end of the chat', () => {
    const candidates = [
      { id: 'a', label: 'A' },
      { id: 'b', label: 'B' },
    ];
    const asked = { ...grown(turn('q', null)), comparison: { blind: false, candidates } };
    const one = withTurn(asked, turn('a', 'q', 'assistant'));
    const both = withTurn(one, turn('b', 'q', 'assistant'));
    expect(openComparison(both)).toMatchObject({ parent: 'q', candidates });
    expect(openComparison(asked)).toBeUndefined();
    expect(openComparison(one)).toBeUndefined();
    expect(openComparison(withTurn(both, turn('n', 'b')))).toBeUndefined();
    const edited = withTurn(both, turn('q2', null));
    expect(openComparison(edited)).toBeUndefined();
    expect(openComparison(withChosen(edited, 'b'))).toMatchObject({ parent: 'q' });
  });

  test('withoutTurn removes a turn with everything below it', () => {
    const chat = grown(turn('a', null), turn('b', 'a'), turn('c', 'b'), turn('c2', 'b'), turn('d', 'c2'));
    const rest = withoutTurn(chat, 'b');
    expect(Object.keys(rest.turns)).toEqual(['a']);
    expect(ids(pathOf(rest))).toEqual(['a']);
  });

  test('withoutTurn shows a neighbouring version', () => {
    const chat = grown(turn('a', null), turn('b', 'a'), turn('b2', 'a'), turn('b3', 'a'));
    expect(ids(pathOf(withoutTurn(chat, 'b3')))).toEqual(['a', 'b2']);
    expect(ids(pathOf(withoutTurn(withChosen(chat, 'b'), 'b')))).toEqual(['a', 'b2']);
    expect(ids(pathOf(withoutTurn(chat, 'b')))).toEqual(['a', 'b3']);
  });

  test('ignores changes of unknown turns', () => {
    const chat = grown(turn('a', null));
    expect(withChange(chat, 'x', { text: 'y' })).toBe(chat);
    expect(withoutTurn(chat, 'x')).toBe(chat);
  });

  test('withChange removes undefined fields', () => {
    const chat = withChange(grown(turn('a', null)), 'a', { failed: 'lost', text: 'b' });
    expect(chat.turns.a).toMatchObject({ failed: 'lost', text: 'b' });
    expect(withChange(chat, 'a', { failed: undefined }).turns.a).not.toHaveProperty('failed');
  });

  test('pathOf ends at a cycle', () => {
    const chat = grown(turn('a', null), turn('b', 'a'));
    expect(ids(pathOf({ ...chat, chosen: { root: 'a', a: 'b', b: 'a' } }))).toEqual(['a', 'b']);
    const circle = { turns: { a: turn('a', 'b'), b: turn('b', 'a') } };
    expect(ids(pathTo(circle, 'b'))).toEqual(['a', 'b']);
  });

  test('stays consistent under any changes', () => {
    const step = fc.record({ what: fc.constantFrom('add', 'choose', 'delete'), at: fc.nat(30) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let chat = emptyChat('c', 0);
        steps.forEach(({ what, at }, index) => {
          const known = Object.keys(chat.turns);
          const target = known[at % Math.max(1, known.length)];
          if (what === 'add') chat = withTurn(chat, turn(`t${index}`, at % 4 === 0 ? null : (target ?? null)));
          else if (target !== undefined)
            chat = what === 'choose' ? withChosen(chat, target) : withoutTurn(chat, target);
          const path = pathOf(chat);
          expect(path.map(({ parent }) => parent)).toEqual([null, ...ids(path)].slice(0, path.length));
          for (const { parent } of Object.values(chat.turns))
            if (parent !== null) expect(chat.turns).toHaveProperty(parent);
          if (Object.keys(chat.turns).length > 0) expect(path.length).toBeGreaterThan(0);
          const sizes = [...branchesOf(chat).values()].map(({ length }) => length);
          expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(Object.keys(chat.turns).length);
        });
      }),
    );
  });
});

describe('withoutMessage', () => {
  test('attaches what follows to the turn before', () => {
    const chat = grown(turn('a', null), turn('b', 'a', 'assistant'), turn('c', 'b'), turn('d', 'c', 'assistant'));
    expect(ids(pathOf(withoutMessage(chat, 'b')))).toEqual(['a', 'c', 'd']);
    expect(ids(pathOf(withoutMessage(chat, 'a')))).toEqual(['b', 'c', 'd']);
    expect(ids(pathOf(withoutMessage(chat, 'd')))).toEqual(['a', 'b', 'c']);
  });

  test('shows another version if nothing follows', () => {
    const chat = grown(turn('a', null), turn('b', 'a', 'assistant'), turn('b2', 'a', 'assistant'));
    expect(ids(pathOf(withoutMessage(chat, 'b2')))).toEqual(['a', 'b']);
  });

  test('removes tool results with their call', () => {
    const chat = grown(
      turn('a', null),
      turn('b', 'a', 'assistant'),
      turn('t', 'b', 'tool'),
      turn('c', 't', 'assistant'),
    );
    const left = withoutMessage(chat, 'b');
    expect(ids(pathOf(left))).toEqual(['a', 'c']);
    expect(left.turns).not.toHaveProperty('t');
  });

  test('moves the end of the summary to the turn before', () => {
    const chat = { ...grown(turn('a', null), turn('b', 'a'), turn('c', 'b')), summary: { text: 's', upTo: 'b' } };
    expect(withoutMessage(chat, 'b').summary).toEqual({ text: 's', upTo: 'a' });
    expect(withoutMessage(withoutMessage(chat, 'b'), 'a').summary).toBeUndefined();
  });
});

describe('forked', () => {
  const numbered = () => {
    let last = 0;
    return { newId: () => `n${++last}`, now: 99 };
  };

  test('copies the shown turns up to one, with the settings of the chat', () => {
    const chat = {
      ...grown(turn('a', null), turn('b', 'a', 'assistant'), turn('b2', 'a', 'assistant'), turn('c', 'b2')),
      system: 'Be brief.',
      folder: 'Work',
      pinned: true,
    };
    const copy = forked(chat, 'b2', 'Copy', numbered());
    expect(pathOf(copy).map(({ text }) => text)).toEqual(['a', 'b2']);
    expect(Object.keys(copy.turns)).toEqual(['n1', 'n2']);
    expect(copy).toMatchObject({ title: 'Copy', titled: true, system: 'Be brief.', folder: 'Work', createdAt: 99 });
    expect(copy.id).not.toBe(chat.id);
    expect(copy.pinned).toBeUndefined();
  });

  test('includes the tool results of the last turn, and the summary of what it copied', () => {
    const chat = {
      ...grown(turn('a', null), turn('b', 'a', 'assistant'), turn('t', 'b', 'tool'), turn('c', 't', 'assistant')),
      summary: { text: 's', upTo: 'a' },
    };
    const copy = forked(chat, 'b', 'Copy', numbered());
    expect(pathOf(copy).map(({ text }) => text)).toEqual(['a', 'b', 't']);
    expect(copy.summary).toEqual({ text: 's', upTo: 'n1' });
    expect(pathOf(forked(chat, 'c', 'Copy', numbered()))).toHaveLength(4);
  });
});

describe('chat title', () => {
  test('is the first line of the first message', () => {
    expect(grown(turn('a', null, 'user', '  Why is\tthe sky blue?\nI wonder.')).title).toBe('Why is the sky blue?');
  });

  test('is cut at a word', () => {
    const title = titleFrom('word '.repeat(30));
    expect(title).toMatch(/^(word )+…$/);
    expect(title.length).toBeLessThan(64);
    expect(titleFrom('x'.repeat(99))).toBe(`${'x'.repeat(60)} …`);
  });

  test('never splits a character', () => {
    expect(titleFrom('🦊'.repeat(80))).toBe(`${'🦊'.repeat(60)} …`);
  });

  test('follows the shown version of the first message', () => {
    const chat = grown(turn('a', null, 'user', 'Ada'), turn('b', null, 'user', 'Bob'));
    expect(chat.title).toBe('Bob');
    expect(withChosen(chat, 'a').title).toBe('Ada');
  });

  test('is the name of an attachment if there is no text', () => {
    const attachments = [{ id: 'f', kind: 'text', name: 'notes.txt', text: '' } as const];
    expect(grown({ ...turn('a', null, 'user', ''), attachments }).title).toBe('notes.txt');
  });

  test('stays as set by the person until it is cleared', () => {
    const chat = renamed(grown(turn('a', null, 'user', 'first')), ' Mine ');
    expect(withTurn(chat, turn('z', null, 'user', 'other')).title).toBe('Mine');
    expect(renamed(chat, ' ').title).toBe('first');
  });
});
