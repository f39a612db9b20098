import { readdirSync, readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { formatsOf } from './src/languages/formats.ts';
import { languageNames, localeOf } from './src/languages/list.ts';
import { translate } from './src/languages/translate.ts';
import {
  areas,
  codes,
  englishTexts,
  formatsOfLanguage,
  leavesOf,
  problemsOf,
  skeletonOf,
  type TranslationFile,
} from './translations.ts';

const source = new URL('./src/', import.meta.url);
const load = (path: string): Promise<Record<string, unknown>> => import(new URL(path, source).pathname);

describe('translations', () => {
  test('of every folder: the area of each texts.ts is in translation.ts', () => {
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => /texts\.ts$/.test(name));
    const found = files.flatMap((name) =>
      [...readFileSync(new URL(name, source), 'utf8').matchAll(/const (\w+) = translatable\('(\w+)'/g)].map(
        ([, texts = '', area = '']) => [area, { path: name.replaceAll('\\', '/'), name: texts }] as const,
      ),
    );
    expect(new Map(found)).toEqual(areas);
    expect(found.length).toBe(areas.size);
  });

  test.each(codes)(
    '%s: nothing is missing, unused, untranslated or too long, and no argument is lost',
    async (code) => {
      const english = await englishTexts(load);
      const file = (await load(`translations/${code}.ts`)) as unknown as TranslationFile;
      const translated = leavesOf(file.default(formatsOfLanguage(code)));
      const problems = problemsOf(english, translated, file.sameAsEnglish);
      expect(problems.map(({ path, what, text }) => `${what} ${path}: ${text}`)).toEqual([]);
    },
  );

  test.each(['en', ...codes])('%s: what to do about a reply that is gone names the button beside it', async (code) => {
    const file = code === 'en' ? undefined : ((await load(`translations/${code}.ts`)) as unknown as TranslationFile);
    const texts = file ? leavesOf(file.default(formatsOfLanguage(code))) : await englishTexts(load);
    expect(texts.get('api.reply.gone')).toContain(texts.get('thread.turn.tryAgain'));
    expect(texts.get('api.reply.goneInStory')).toContain(texts.get('write.toolbar.retry'));
  });

  test.each(codes)('%s: imports only types, because it runs before all modules of the page', (code) => {
    const text = readFileSync(new URL(`translations/${code}.ts`, source), 'utf8');
    const imports = text.match(/^import .*$/gm) ?? [];
    expect(imports.filter((line) => !line.startsWith('import type '))).toEqual([]);
    expect(text.match(/^export default /gm)).toHaveLength(1);
  });

  const one = {
    title: 'Settings',
    tabs: { chat: 'Chat' },
    steps: ['One step', 'Two steps'],
    of: (name: string) => `Of ${name}`,
  };
  const problems = (translated: unknown, same: readonly string[] = ['Chat']) =>
    problemsOf(leavesOf(one), leavesOf(translated), same).map(({ what, path }) => `${what} ${path}`);
  const whole = {
    ...one,
    title: 'Einstellungen',
    steps: ['Ein Schritt', 'Zwei Schritte'],
    of: (name: string) => `Von ${name}`,
  };

  test('problemsOf: finds what is missing, unused, untranslated, too long or empty', () => {
    expect(problems(whole)).toEqual([]);
    expect(problems({ ...whole, title: undefined, more: 'Mehr' })).toEqual(['missing title', 'unused more']);
    expect(problems(whole, [])).toEqual(['untranslated tabs.chat']);
    expect(problems({ ...whole, title: 'Einstellungen, und noch viel mehr' })).toEqual(['too long title']);
    expect(problems({ ...whole, steps: ['Ein Schritt', ''] })).toEqual(['missing steps.1']);
    expect(problems({ ...whole, of: 'Von' })).toEqual(['unused of']);
  });

  test('problemsOf: code needs no translation, but a sentence that begins with code does', () => {
    const missing = (text: string) => problemsOf(leavesOf({ text }), leavesOf({})).map(({ what }) => what);
    for (const text of ['/home/me/notes', '*.pdf, notes/**', 'https://…/mcp', '--sdmodel', 'parley --inspect 100'])
      expect(missing(text), text).toEqual([]);
    for (const text of ['/pattern/flags. Flags: g all matches.', '--model is missing', '* required', 'parley is off'])
      expect(missing(text), text).toEqual(['missing']);
  });

  test('problemsOf: finds arguments that are lost or changed, and numbers that are left out of a plural', () => {
    const { plural } = formatsOf('pl');
    const files = { files: (count: number, name: string) => `${count} files in ${name}` };
    const of = (text: unknown) => problemsOf(leavesOf(files), leavesOf({ files: text })).map(({ what }) => what);
    const forms = { one: '# plik', few: '# pliki', many: '# plików', other: '# pliku' };
    expect(of((count: number, name: string) => `${plural(count, forms)} w ${name}`)).toEqual([]);
    expect(of((count: number) => plural(count, forms))).toEqual(['argument']);
    expect(of((_: number, name: string) => `Pliki w ${name}`)).toEqual(['argument']);
    expect(of((count: number, name: string) => `${count} # w ${name}`)).toContain('broken');
    expect(of((count: number, name: { title: string }) => `${count} w ${name.title}`)).toContain('argument');
  });

  test('skeletonOf: is TypeScript with the English texts, and lists are whole', () => {
    expect(skeletonOf(leavesOf(one), leavesOf({ tabs: { chat: 'Chat' }, steps: ['Ein Schritt'] }))).toBe(
      '  title: "Settings",\n  steps: ["One step", "Two steps"],\n  of: (name) => `Of ${name}`,\n',
    );
  });
});

test('translate: keeps the English text of what is missing or of another kind', () => {
  const english = { a: 'A', list: ['1', '2'], of: (name: string) => `of ${name}`, inner: { b: 'B' } };
  expect(translate(english, { a: 'Ä', list: ['eins'], of: 'von' })).toMatchObject({
    ...{ a: 'Ä', list: ['eins', '2'], of: english.of, inner: { b: 'B' } },
  });
  expect(translate(english, undefined)).toEqual(english);
});

describe('formats', () => {
  test('plural: takes the category of the language, and its digits', () => {
    const files = { one: '# файл', few: '# файла', many: '# файлов', other: '# файла' };
    const russian = formatsOf('ru');
    expect([1, 2, 5, 21, 1100].map((count) => russian.plural(count, files))).toEqual([
      ...['1 файл', '2 файла', '5 файлов', '21 файл', '1\u00a0100 файлов'],
    ]);
    expect(formatsOf('ja').plural(1, { other: '#件' })).toBe('1件');
  });

  test('ordinal, list, byteSize, percent and ago are those of the language', () => {
    const { ordinal, list, byteSize, percent, ago } = formatsOf('en');
    const ranks = { one: '#st', two: '#nd', few: '#rd', other: '#th' };
    expect([1, 2, 3, 4, 11, 22].map((rank) => ordinal(rank, ranks)).join()).toBe('1st,2nd,3rd,4th,11th,22nd');
    expect([list(['a', 'b', 'c']), list(['a', 'b'], 'or')]).toEqual(['a, b, and c', 'a or b']);
    expect([512, 639e6, 5.7e9].map(byteSize)).toEqual(['512 bytes', '639 MB', '5.7 GB']);
    expect([percent(0.456), ago(7300)]).toEqual(['46%', '2 hours ago']);
    const german = formatsOf('de');
    expect([german.list(['a', 'b']), german.byteSize(5.7e9), german.percent(0.5)]).toEqual([
      ...['a und b', '5,7\u00a0GB', '50\u00a0%'],
    ]);
  });

  test('localeOf: takes the region of the browser for languages that we have in one form', () => {
    expect(localeOf('en', ['de-AT', 'en-GB'])).toBe('en-GB');
    expect(localeOf('zh-Hans', ['zh-TW'])).toBe('zh-Hans');
    expect(localeOf('de', ['fr'])).toBe('de');
    expect(formatsOf(localeOf('ar', ['ar-EG'])).number(1234)).toMatch(/1.?234/);
  });
});

describe('theme.js', () => {
  const script = readFileSync(new URL('./public/theme.js', import.meta.url), 'utf8');
  function opened(languages: readonly string[] | undefined, look?: unknown) {
    const written: string[] = [];
    const root = { dataset: {} as Record<string, string>, lang: 'en', dir: '' };
    const files = Object.fromEntries(Object.keys(languageNames).map((code) => [code, `./assets/${code}-1.js`]));
    runInNewContext(script, {
      localStorage: {
        getItem: () => (look === undefined ? null : typeof look === 'string' ? look : JSON.stringify(look)),
      },
      navigator: languages === undefined ? {} : { languages },
      document: {
        documentElement: root,
        currentScript: { dataset: { languages: JSON.stringify(files) } },
        write: (html: string) => written.push(html),
      },
    });
    return { lang: root.lang, dir: root.dir, theme: root.dataset.theme, written };
  }

  test.each([
    [['de-AT', 'en'], 'de'],
    [['pt-PT'], 'pt-BR'],
    [['zh-TW'], 'zh-Hant'],
    [['zh-Hant-HK'], 'zh-Hant'],
    [['zh-CN'], 'zh-Hans'],
    [['zh'], 'zh-Hans'],
    [['sv', 'fr-CH'], 'fr'],
    [['en-GB', 'de'], 'en'],
    [['sv'], 'en'],
    [[], 'en'],
    [undefined, 'en'],
  ])('a browser with %j gets %s', (languages, code) => {
    expect(opened(languages).lang).toBe(code);
  });

  test('the choice of the settings wins, and a damaged one is as none', () => {
    expect(opened(['de'], { language: 'ja', theme: 'dark' })).toMatchObject({ lang: 'ja', theme: 'dark' });
    expect(opened(['de'], { language: 'en' })).toMatchObject({ lang: 'en', written: [] });
    for (const look of ['{', 'null', { language: 7 }, { language: 'tlh' }])
      expect(opened(['de'], look).lang).toBe('de');
  });

  test('the file of the language is a module before those of the page; English has none', () => {
    expect(opened(['ar']).written).toEqual(['<script type="module" crossorigin src="./assets/ar-1.js"></script>']);
    expect([opened(['ar']).dir, opened(['he']).dir]).toEqual(['rtl', 'ltr']);
    expect(opened(['en']).written).toEqual([]);
  });
});
