import { type Fields, isObject, jsonIn } from '../api/loose.ts';
/** A tool as MCP servers list it. */
export interface McpTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: object;
}

export interface WireTool {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description?: string; readonly parameters: object };
}

export function wireTools(tools: readonly McpTool[], chosen: readonly string[]): WireTool[] {
  return tools
    .filter(({ name }) => chosen.includes(name))
    .map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: {
        name,
        ...(description === undefined ? {} : { description }),
        parameters: inputSchema ?? { type: 'object', properties: {} },
      },
    }));
}

/** The result of a tool as text for the model; other content is passed as JSON. */
export function resultText(answer: unknown): string {
  const { result, error } = (answer ?? {}) as { result?: unknown; error?: { message?: string } };
  if (error) return `Error: ${error.message ?? 'the tool failed'}`;
  const { content, structuredContent, isError } = (result ?? {}) as {
    content?: readonly { type?: string; text?: string }[];
    structuredContent?: unknown;
    isError?: boolean;
  };
  const parts = Array.isArray(content) ? content : [];
  const onlyText = parts.length > 0 && parts.every(({ type }) => type === 'text');
  const text = onlyText
    ? parts.map(({ text: said }) => said ?? '').join('\n')
    : JSON.stringify(parts.length > 0 ? parts : (structuredContent ?? result ?? null));
  return isError ? `Error: ${text}` : text;
}

/** Parsed arguments; undefined if they are not a JSON object. */
export function argumentsOf(text: string): Fields | undefined {
  const value = jsonIn(text.trim() || '{}');
  return isObject(value) ? value : undefined;
}
