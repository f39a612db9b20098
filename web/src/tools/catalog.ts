import { bytesIn } from '../api/loose.ts';

/** Resources and prompts of MCP servers, as their lists contain them. */
export interface McpResource {
  readonly uri: string;
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export interface McpPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

export interface ResourceContent {
  readonly uri?: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
}

export function resourceName({ uri, name, title }: McpResource): string {
  return title || name || uri;
}

/** The contents of a resource as files that can be attached. */
export function resourceFiles(resource: McpResource, contents: readonly ResourceContent[]): File[] {
  return contents.flatMap(({ text, blob, mimeType = resource.mimeType ?? '' }, index) => {
    const name = `${resourceName(resource)}${index === 0 ? '' : ` (${index + 1})`}`;
    if (text !== undefined) return text === '' ? [] : [new File([text], name, { type: 'text/plain' })];
    if (blob === undefined || blob === '') return [];
    return [new File([bytesIn(blob)], name, { type: mimeType })];
  });
}

/** The text of a prompt: its messages one after another, with roles only if the model speaks too. */
export function promptText(messages: readonly { readonly role?: string; readonly content?: unknown }[]): string {
  const spoken = messages.map(({ role, content }) => ({ role, text: contentText(content) }));
  const named = spoken.some(({ role }) => role === 'assistant');
  return spoken
    .filter(({ text }) => text !== '')
    .map(({ role, text }) => (named ? `${role === 'assistant' ? 'Assistant' : 'User'}: ${text}` : text))
    .join('\n\n');
}

function contentText(content: unknown): string {
  if (Array.isArray(content)) return content.map(contentText).filter(Boolean).join('\n');
  const { text, resource } = (content ?? {}) as { text?: unknown; resource?: { text?: unknown } };
  const inner = text ?? resource?.text;
  return typeof inner === 'string' ? inner.trim() : '';
}

/** The tools of a chat after all those of a server, or one of them, are switched. */
export function withTools(chosen: readonly string[], names: readonly string[], on: boolean): string[] {
  const others = chosen.filter((name) => !names.includes(name));
  return on ? [...others, ...names] : others;
}
