import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { languageNames } from './src/languages/list.ts';

const pathOf = (code: string): string => fileURLToPath(new URL(`src/translations/${code}.ts`, import.meta.url));
const codes = Object.keys(languageNames).filter((code) => existsSync(pathOf(code)));

/**
 * Makes a script of the file of each language, which leaves its default export where `src/languages/index.ts` reads it,
 * and tells `theme.js` their addresses. English needs none of this, and waits for nothing.
 */
export function languageFiles(): Plugin {
  const ids = new Map(codes.map((code) => [pathOf(code).replaceAll('\\', '/'), code]));
  let isBuild = false;
  return {
    name: 'language-files',
    configResolved: ({ command }) => {
      isBuild = command === 'build';
    },
    buildStart() {
      if (isBuild) for (const [id, name] of ids) this.emitFile({ type: 'chunk', id, name });
    },
    transform: (source, id) =>
      ids.has(id)
        ? { code: source.replace(/^export default/m, 'globalThis.parleyTranslation ='), map: null }
        : undefined,
    transformIndexHtml: {
      order: 'post',
      handler: (html, { bundle }) => {
        const chunks = Object.values(bundle ?? {}).filter((file) => file.type === 'chunk');
        const fileOf = (id: string) => chunks.find((chunk) => chunk.facadeModuleId === id)?.fileName;
        const addresses = [...ids].map(([id, code]) => [code, `./${fileOf(id) ?? `src/translations/${code}.ts`}`]);
        const data = JSON.stringify(Object.fromEntries(addresses)).replaceAll('"', '&quot;');
        return html.replace('src="./theme.js"', `src="./theme.js" data-languages="${data}"`);
      },
    },
  };
}
