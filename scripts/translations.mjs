// What is missing or wrong in the translations of the pages: `node scripts/translations.mjs`.
// `node scripts/translations.mjs de` prints what is missing in one of them as TypeScript with the English texts.
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const web = fileURLToPath(new URL('../web/', import.meta.url));
const server = await createServer({
  root: web,
  configFile: false,
  logLevel: 'error',
  appType: 'custom',
  server: { middlewareMode: true, watch: null, ws: false },
  optimizeDeps: { noDiscovery: true },
});

try {
  const load = (path) => server.ssrLoadModule(`/${path}`);
  const checks = await load('translations.ts');
  const english = await checks.englishTexts((path) => load(`src/${path}`));
  const read = async (code) => {
    if (!checks.codes.includes(code)) return { texts: new Map() };
    const file = await load(`src/translations/${code}.ts`);
    return { texts: checks.leavesOf(file.default(checks.formatsOfLanguage(code))), same: file.sameAsEnglish };
  };
  const [code] = process.argv.slice(2);
  if (code) {
    const { texts } = await read(code);
    process.stdout.write(checks.skeletonOf(english, texts));
  } else {
    for (const each of checks.codes) {
      const { texts, same } = await read(each);
      const problems = checks.problemsOf(english, texts, same);
      console.log(`${each}: ${texts.size} texts, ${problems.length} problems`);
      for (const { path, what, text } of problems) console.log(`  ${what.padEnd(12)}  ${path}: ${text.slice(0, 160)}`);
    }
  }
} finally {
  await server.close();
}
