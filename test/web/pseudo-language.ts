import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { build } from 'vite';
import { areas } from '../../web/translations.ts';

// A language for tests: English with accents, longer by 40 %. It has the code of a language whose dates, units and lists have
// other letters than ours, so that all plain English that is left on a page is a text that nobody can translate.

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** The file of that language, as the build makes it of `web/src/translations/CODE.ts`. */
async function bundled(): Promise<string> {
  const imports = [...areas].map(
    ([area, { path: file, name }]) =>
      `import { ${name} as ${area} } from ${JSON.stringify(path(`../../web/src/${file}`))};`,
  );
  const modules: Readonly<Record<string, string>> = {
    // The texts are evaluated in the language of the page, so that their numbers and lists are those of it.
    'virtual:language': 'globalThis.parleyTranslation = () => ({});',
    'virtual:pseudo': [
      "import 'virtual:language';",
      `import { pseudo } from ${JSON.stringify(path('pseudo-text.ts'))};`,
      ...imports,
      `globalThis.parleyTranslation = () => pseudo({ ${[...areas.keys()].join(', ')} });`,
    ].join('\n'),
  };
  const result = await build({
    configFile: false,
    logLevel: 'error',
    plugins: [
      {
        name: 'pseudo-language',
        enforce: 'pre',
        resolveId: (id) => (id in modules ? `\0${id}` : undefined),
        load: (id) => modules[id.slice(1)],
      },
    ],
    build: { write: false, minify: false, rollupOptions: { input: 'virtual:pseudo', treeshake: false } },
  });
  const [output] = [result].flat();
  if (!output || !('output' in output)) throw new Error('nothing was built');
  return output.output[0].code;
}

let script: Promise<string> | undefined;

/** From now on, pages that are opened are in the pseudo-language: from left to right, or from right to left. */
export async function speakPseudo(page: Page, direction: 'ltr' | 'rtl' = 'ltr'): Promise<void> {
  script ??= bundled();
  const body = await script;
  const code = direction === 'ltr' ? 'ja' : 'ar';
  await page.addInitScript(
    `if (location.origin !== 'null') localStorage.setItem('parley.look', JSON.stringify({ language: '${code}' }))`,
  );
  await page.route('**/pseudo-language.js', (route) => route.fulfill({ contentType: 'text/javascript', body }));
  await page.route(
    (address) => /^\/(index|api|launcher|inspector|conversations|lan)?(\.html)?$/.test(address.pathname),
    async (route) => {
      if (route.request().resourceType() !== 'document') return route.continue();
      const response = await route.fetch();
      const html = await response.text();
      const languages = `data-languages="{&quot;${code}&quot;:&quot;./pseudo-language.js&quot;}"`;
      await route.fulfill({ response, body: html.replace(/data-languages="[^"]*"/, languages) });
    },
  );
}

/** Texts that are visible or spoken, and are plain English. */
export function plainEnglish(page: Page): Promise<string[]> {
  return page.evaluate(`(${findPlainEnglish})()`);
}

const findPlainEnglish = `() => {
  const verbatim = 'code, pre, kbd, script, style, noscript, textarea, body [dir="ltr"], body [lang], [translate="no"]';
  const isEnglish = (text) => /[a-z]*[aeiouy][a-z]+|[a-z]+[aeiouy]/i.test(text) && !/[áéíóúýÁÉÍÓÚÝ]/.test(text);
  const isSeen = (element) => (element.closest('select') ?? element).checkVisibility({ visibilityProperty: true }) && !element.closest(verbatim);
  const found = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    if (parentElement && isEnglish(data) && isSeen(parentElement)) found.add(data.trim());
  }
  for (const name of ['aria-label', 'title', 'placeholder', 'alt', 'aria-roledescription'])
    for (const element of document.querySelectorAll('[' + name + ']'))
      if (isEnglish(element.getAttribute(name)) && isSeen(element)) found.add(name + ': ' + element.getAttribute(name));
  return [...found];
}`;

/** Elements that reach beyond the sides of the window, and are not in something that scrolls or cuts. */
export function overflowing(page: Page): Promise<string[]> {
  return page.evaluate(`(${findOverflowing})()`);
}

const findOverflowing = `() => {
  const width = document.documentElement.clientWidth;
  const isCut = (element) => {
    for (let outer = element.parentElement; outer && outer !== document.body; outer = outer.parentElement)
      if (getComputedStyle(outer).overflowX !== 'visible') return true;
    return false;
  };
  const all = [...document.body.querySelectorAll('*')].filter((element) => element.checkVisibility({ visibilityProperty: true }));
  const beyond = all.filter((element) => {
    const { left, right, width: own } = element.getBoundingClientRect();
    return own > 1 && (left < -1 || right > width + 1) && !isCut(element);
  });
  const scrolling = all.filter((element) => {
    const { overflowX } = getComputedStyle(element);
    return overflowX === 'auto' && element.clientWidth > 0.8 * width && element.scrollWidth > element.clientWidth + 1 && /^(MAIN|DIALOG|FORM|SECTION|ARTICLE)$|content|body/.test(element.tagName + ' ' + element.className);
  });
  return [...beyond, ...scrolling].map((element) => element.outerHTML.slice(0, 160));
}`;
