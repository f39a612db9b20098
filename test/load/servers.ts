import { program } from '../live/server.ts';

const preload = (name: string): readonly string[] => ['--import', new URL(name, import.meta.url).href];

/** The real server, which also measures its event loop and its heap. */
export const measuredCommand = [process.execPath, ...preload('measure-server.mjs'), program];

/** The same with the fake text engine. */
export const fakeEngineCommand = [
  process.execPath,
  ...preload('measure-server.mjs'),
  ...preload('use-fake-engine.mjs'),
  program,
];
