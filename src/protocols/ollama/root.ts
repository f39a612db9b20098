import type { Reply } from '../../http/call.ts';
import type { PlainEndpoint } from '../endpoint.ts';

const runningNote: Reply = {
  status: 200,
  headers: { 'content-type': 'text/plain; charset=utf-8', vary: 'accept' },
  body: 'Ollama is running',
};

/**
 * The start page, for those who can read it. Apps that look for this kind of server ask for the same path and expect one
 * sentence; browsers always say that they take HTML, and programs never do.
 */
export function answeringProbes(page: PlainEndpoint): PlainEndpoint {
  return {
    ...page,
    handle: (call, context) => (call.headers.accept?.includes('text/html') ? page.handle(call, context) : runningNote),
  };
}
