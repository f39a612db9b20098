import { describe, expect, test } from 'vitest';
import { plainPath, queryOf, type Route, router } from './router.ts';

const route = (method: Route['method'], match: Route['match'], path: string): Route => ({ method, match, path });

const routes = router([
  route('POST', 'ending', '/v1/generate'),
  route('POST', 'ending', '/generate'),
  route('POST', 'exact', '/generate'),
  route('POST', 'exact', '/prompt'),
  route('GET', 'exact', '/prompt'),
  route('GET', 'exact', '/'),
  route('GET', 'exact', '/lcpp'),
  route('GET', 'prefix', '/assets/'),
  route('GET', 'prefix', '/assets/pictures/'),
  route('GET', 'ending', '/manifest.json'),
  route('GET', 'folder', '/built'),
  route('DELETE', 'prefix', '/v1/files/'),
  route('GET', 'rest', '/v1/'),
  route('POST', 'rest', '/v1/'),
]);

const found = (method: string, target: string): string | undefined => {
  const one = routes.find(method, plainPath(target));
  return one && `${one.match} ${one.path}`;
};

describe('router', () => {
  test.each([
    ['/v1/generate', 'ending /v1/generate'],
    ['/api/v1/generate', 'ending /v1/generate'],
    ['/behind/a/proxy/v1/generate/', 'ending /v1/generate'],
    ['/v1/generate///', 'ending /v1/generate'],
    ['/v1/generate?key=/prompt', 'ending /v1/generate'],
    ['/v1/generate//?key=/prompt/', 'ending /v1/generate'],
    ['/lcpp/v1/generate', 'ending /v1/generate'],
    ['/api/generate', 'ending /generate'],
    ['/generate', 'exact /generate'],
    ['/prompt/', 'exact /prompt'],
    ['/lcpp/prompt/', 'exact /prompt'],
    ['http://localhost:5001/prompt', 'exact /prompt'],
  ])('POST %s matches %s', (target, path) => expect(found('POST', target)).toBe(path));

  test.each([
    '/built/a.js',
    '/x/prompt',
    '/regenerate',
    '/',
    '',
    '/assets/app.js',
    '/GENERATE',
    '/%67enerate',
    '/lcppprompt',
  ])('POST %s is unknown', (target) => expect(found('POST', target)).toBeUndefined());

  test.each([
    ['/', 'exact /'],
    ['', 'exact /'],
    ['//', 'exact /'],
    ['/?theme=dark', 'exact /'],
    ['http://localhost:5001', 'exact /'],
    ['/lcpp', 'exact /lcpp'],
    ['/lcpp/', 'exact /lcpp'],
    ['/lcpp/assets/a.js', 'prefix /assets/'],
    ['/assets/a/b.js', 'prefix /assets/'],
    ['/assets/pictures/b.png', 'prefix /assets/pictures/'],
    ['/assets/manifest.json', 'ending /manifest.json'],
    ['/somewhere/manifest.json', 'ending /manifest.json'],
    ['/built/a.js', 'folder /built'],
    ['/behind/a/proxy/built/a.js', 'folder /built'],
    ['/built/manifest.json', 'ending /manifest.json'],
  ])('GET %s matches %s', (target, path) => expect(found('GET', target)).toBe(path));

  test.each([
    ['/prompt', ['GET', 'POST']],
    ['/api/v1/generate', ['POST']],
    ['/v1/files/7', ['DELETE']],
    ['/nobody', []],
  ])('methods: %s has %j', (path, expected) => expect(routes.methods(path)).toEqual(expected));

  test.each([
    ['POST', '/v1/nowhere', 'rest /v1/'],
    ['GET', '/v1/files/7/more', undefined],
    ['GET', '/v1/generate', undefined],
    ['GET', '/v1/nowhere', 'rest /v1/'],
    ['DELETE', '/v1/nowhere', undefined],
  ])('%s %s matches the fallback %s, but not if another method of the path exists', (method, target, path) =>
    expect(found(method, target)).toBe(path),
  );

  test('rejects a path of very many slashes quickly', () => {
    expect(found('POST', '/x'.repeat(8000))).toBeUndefined();
    expect(found('POST', `${'/x'.repeat(8000)}/v1/generate`)).toBe('ending /v1/generate');
  });

  test.each([
    [[route('GET', 'exact', '/a'), route('GET', 'exact', '/a')], /twice/],
    [[route('GET', 'ending', 'a')], /slash/],
    [[route('GET', 'exact', '/a/')], /never be reached/],
  ])('refuses a table with a hidden endpoint: %j', (table, reason) => expect(() => router(table)).toThrow(reason));
});

test('queryOf: decodes the query of a target', () => {
  expect([...queryOf('/a?b=1&c=%20x?')]).toEqual([
    ['b', '1'],
    ['c', ' x?'],
  ]);
  expect([...queryOf('/a')]).toEqual([]);
});
