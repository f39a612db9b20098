import type { Reply } from '../../http/call.ts';

/** All that a reply sends, streamed or whole. */
export async function textOf(reply: Reply): Promise<string> {
  if ('body' in reply) return String(reply.body);
  let all = '';
  for await (const piece of reply.stream) all += piece;
  return all;
}

export async function jsonOf(reply: Reply): Promise<unknown> {
  return JSON.parse(await textOf(reply));
}
