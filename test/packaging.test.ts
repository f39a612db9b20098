import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('local.parley.plist: no comment has two dashes in it, such as those of a flag, which XML does not allow', () => {
  const text = readFileSync(new URL('../packaging/launchd/local.parley.plist', import.meta.url), 'utf8');
  const comments = [...text.matchAll(/<!--([\s\S]*?)-->/g)].map(([, comment]) => comment);
  expect(comments.length).toBeGreaterThan(0);
  expect(comments.filter((comment) => comment?.includes('--'))).toEqual([]);
});
