import { program } from '../live/server.ts';

/** Starts the real server with the fake text engine. */
export const fakeEngineCommand = [
  process.execPath,
  '--import',
  new URL('use-fake-engine.mjs', import.meta.url).href,
  program,
];
