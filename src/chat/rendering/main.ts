import { parentPort } from 'node:worker_threads';
import { renderThread, type ToThread } from './thread.ts';

const render = renderThread((message) => parentPort?.postMessage(message));
parentPort?.on('message', (message: ToThread) => void render(message));
