import { parentPort } from 'node:worker_threads';
import type { ToThread } from './messages.ts';
import { renderThread } from './thread.ts';

const render = renderThread((message) => parentPort?.postMessage(message));
parentPort?.on('message', (message: ToThread) => void render(message));
