import type { Source } from '../../core/server-tools.ts';
import type { HostedDocuments } from './hosted.ts';
import { cut, failed, type HostedTool, maxQueryLength, unlessBusy, uses } from './web-tools.ts';

/** Searches the collections that a request names. */
export function fileSearchTool(hosted: HostedDocuments): HostedTool {
  const isUsed = uses(hosted);
  return {
    tool: {
      name: 'file_search',
      description:
        'Searches the documents of the user. The result has passages with a number; cite them by it, like [1], after each statement that they support.',
      parameters: {
        type: 'object',
        properties: { query: { type: 'string', description: 'A question or key words.' } },
        required: ['query'],
      },
    },
    kind: 'documents',
    name: 'file_search',
    async run({ input: { query } }, { signal, characters }) {
      if (typeof query !== 'string' || query.trim() === '') return failed('invalid_tool_input');
      if (query.length > maxQueryLength) return failed('query_too_long');
      if (isUsed()) return failed('max_uses_exceeded');
      const sources = await unlessBusy(hosted.find(query.trim(), signal));
      if ('type' in sources) return sources;
      return { type: 'sources', sources: fittingSources(sources, characters) };
    },
  };
}

/** The best whole passages that the model can read together; of a single one that is too long, its beginning. */
export function fittingSources(sources: readonly Source[], characters: number): readonly Source[] {
  let left = characters;
  const count = sources.findIndex(({ title, text }) => {
    left -= title.length + text.length + 16;
    return left < 0;
  });
  const [first] = sources;
  if (count === 0 && first) return [{ ...first, text: cut(first.text, characters) }];
  return count === -1 ? sources : sources.slice(0, count);
}
