import { copyFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { languageFiles } from './languages-plugin.ts';
import { versionedServiceWorker } from './service-worker.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** Those of the manual, which the manifest shows to people who install the page. */
const screenshots = {
  name: 'screenshots',
  apply: 'build' as const,
  writeBundle({ dir = '' }: { readonly dir?: string }): void {
    copyFileSync(here('../docs/screenshots/chat-phone-light.webp'), `${dir}/screenshot-narrow.webp`);
    copyFileSync(here('../docs/screenshots/chat-desktop-light.webp'), `${dir}/screenshot-wide.webp`);
  },
};
const pages = readdirSync(here('.')).filter((name) => name.endsWith('.html'));

/** Each page is an entry of its own; addresses are relative, so that the pages work below any prefix. */
export default defineConfig({
  root: here('.'),
  base: './',
  plugins: [svelte(), languageFiles(), versionedServiceWorker(here('public')), screenshots],
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
