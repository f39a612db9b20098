import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { flagByName } from '../../src/config/flags.ts';
import { plainPath, router } from '../../src/http/router.ts';
import { builtApp } from '../../src/server/testing/built-app.ts';
import { curlRequest, inlineCommands, shellCommands } from './commands.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = ['README.md', ...['docs', 'docs/apis', 'docs/glossaries'].flatMap(pagesIn)];

function pagesIn(folder: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
}

const read = (page: string) => readFileSync(join(root, page), 'utf8');
const commandsOf = (text: string) => [...shellCommands(text).map(({ command }) => command), ...inlineCommands(text)];

/** The endpoints of a server with everything on that adds paths; those that only refuse what is not there do not count. */
const { endpoints } = await builtApp({ singleinstance: true, admin: true, savedatafile: 'x', multiplayer: true });
const routes = router(endpoints.filter(({ match }) => match !== 'rest'));

test('pages: the endpoint of every curl command exists, with its method', () => {
  const requests = pages.flatMap((page) =>
    commandsOf(read(page)).flatMap((command) => {
      const request = curlRequest(command);
      return request ? [{ page, ...request }] : [];
    }),
  );
  expect(requests.length).toBeGreaterThan(50);
  const missing = requests.filter(({ method, path }) => routes.find(method, plainPath(path)) === undefined);
  expect(missing).toEqual([]);
  expect(routes.find('POST', '/v1/audio/speeches')).toBeUndefined();
});

test('pages: the JSON that a curl command sends can be parsed', () => {
  const bodies = pages.flatMap((page) =>
    commandsOf(read(page)).flatMap((command) => [...command.matchAll(/ -d '(\{[^']*)'/g)].map(([, body = '']) => body)),
  );
  expect(bodies.length).toBeGreaterThan(40);
  for (const body of bodies) expect(() => JSON.parse(body), body).not.toThrow();
});

/** The anchors of a page: its headings in small letters, with hyphens. */
function anchors(page: string): string[] {
  return [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

test.each(pages)('%s: its links lead to files and headings that exist', (page) => {
  const links = [...read(page).matchAll(/\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)/g)];
  const broken = links.filter(([, file = '', anchor]) => {
    const target = file === '' ? page : join(dirname(page), file);
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && !anchors(read(target)).includes(anchor);
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

test('README.md and the guide: every flag of Parley that they name exists', () => {
  const text = ['README.md', 'docs/guide.md']
    .map(read)
    .join('\n')
    .replaceAll(/`np[mx] [^`]*`/g, '');
  const names = [...text.matchAll(/(?<=[`\s])--[a-z][a-z-]*/g)].map(([name]) => name);
  expect(names.length).toBeGreaterThan(50);
  const ofOthers = ['--package', '--help'];
  expect(names.filter((name) => !flagByName.has(name) && !ofOthers.includes(name))).toEqual([]);
});

test.each(pagesIn('docs/apis'))('%s: its field tables are in the reference at its end', (page) => {
  const [guide = '', reference = ''] = read(page).split('\n## Reference\n\n<!-- fields -->\n');
  expect(guide).not.toMatch(/^\| Field \|/m);
  expect(reference).toMatch(/\n<!-- \/fields -->\n$/);
});

test('README.md: has at most 1,200 words', () => {
  expect(read('README.md').split(/\s+/).length).toBeLessThanOrEqual(1200);
});
