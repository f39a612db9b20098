import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const pages = readdirSync(here('.')).filter((name) => name.endsWith('.html'));

/** Each page is an entry of its own; addresses are relative, so that the pages work below any prefix. */
export default defineConfig({
  root: here('.'),
  base: './',
  plugins: [svelte()],
  build: {
    outDir: here('../dist/web'),
    emptyOutDir: true,
    target: 'es2022',
    // Inlined pieces would need a looser content policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: Object.fromEntries(pages.map((name) => [name.replace('.html', ''), here(name)])),
      // In a chunk of its own: else the bundler puts its helpers, which every page loads, into the same chunk as this library.
      output: { codeSplitting: { groups: [{ name: 'highlighter', test: /node_modules.highlight\.js/ }] } },
    },
  },
  // The server with the models; `npx vite --config web/vite.config.ts` shows changes at once.
  server: { proxy: { '^/(api|v1|sdapi|lcpp|mcp|props|docs)(/|$)': 'http://localhost:5001' } },
});
