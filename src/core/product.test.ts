import { expect, test } from 'vitest';
import { readProduct, reportFacts, versionList, versionText } from './product.ts';

const files = (build?: string) => (path: string) => {
  if (path.endsWith('package.json')) return '{"version":"1.2.3"}';
  if (build === undefined) throw new Error('ENOENT');
  return build;
};

test('readProduct: version and commit', () => {
  expect(readProduct(files('{"commit":"1a2b3c"}'))).toEqual({ name: 'Parley', version: '1.2.3', commit: '1a2b3c' });
});

test.each([undefined, '', '{', 'null', '{}', '{"commit":5}'])('readProduct: no commit if build.json is %j', (build) => {
  expect(readProduct(files(build))).toEqual({ name: 'Parley', version: '1.2.3' });
});

test('versionList: names with versions', () => {
  expect(versionList({ a: '1.0.0', b: '2.0.0' })).toBe('a 1.0.0, b 2.0.0');
  expect(versionList(undefined)).toBe('');
});

test('versionText: the commit in parentheses if it is known', () => {
  expect(versionText({ name: 'Parley', version: '1.2.3', commit: '1a2b3c' })).toBe('1.2.3 (commit 1a2b3c)');
  expect(versionText({ name: 'Parley', version: '1.2.3' })).toBe('1.2.3');
});

test('reportFacts: program, Node and system', () => {
  const system = { version: 'v24.1.0', platform: 'linux', arch: 'arm64' } as const;
  expect(reportFacts({ name: 'Parley', version: '1.2.3' }, system)).toBe('Parley 1.2.3, Node 24.1.0, linux arm64');
});
