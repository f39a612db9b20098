import type { CallOptions, ServedCall, ServedResult, ServedTool, ToolServers } from '../tool-servers.ts';

export const echoTool: ServedTool = {
  name: 'echo',
  description: 'Says the same again',
  inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  annotations: { readOnlyHint: true },
};

export function textResult(text: string): ServedResult {
  return { content: [{ type: 'text', text }] };
}

/** Tool servers with scripted results, which record their calls. */
export function playedTools(
  answer: (call: ServedCall, options: CallOptions) => Promise<ServedResult>,
  tools: readonly ServedTool[] = [echoTool],
) {
  const calls: ServedCall[] = [];
  const servers: ToolServers = {
    list: async () => tools,
    call: (call, options) => {
      calls.push(call);
      return answer(call, options);
    },
  };
  return { servers, calls };
}
