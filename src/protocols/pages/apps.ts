import type { Endpoint } from '../../http/call.ts';

/** A kind of program, the address it wants to be given, and the endpoint without which it cannot work here. */
export interface App {
  readonly title: string;
  /** Below the address of this server. */
  readonly path: string;
  readonly needs: { readonly method: Endpoint['method']; readonly path: string };
}

const post = (path: string): App['needs'] => ({ method: 'POST', path });

export const apps: readonly App[] = [
  { title: 'KoboldAI clients', path: '', needs: post('/api/v1/generate') },
  { title: 'OpenAI SDKs and apps (base URL)', path: 'v1', needs: post('/v1/chat/completions') },
  { title: 'OpenAI Responses (base URL)', path: 'v1', needs: post('/v1/responses') },
  { title: 'Anthropic SDKs and apps (base URL)', path: '', needs: post('/v1/messages') },
  { title: 'Ollama apps (host)', path: '', needs: post('/api/chat') },
  { title: 'llama.cpp clients', path: '', needs: post('/completion') },
  { title: 'Stable Diffusion web UI apps', path: '', needs: post('/sdapi/v1/txt2img') },
  { title: 'ComfyUI apps', path: '', needs: post('/prompt') },
  { title: 'Speech to text (OpenAI base URL)', path: 'v1', needs: post('/v1/audio/transcriptions') },
  { title: 'Text to speech (OpenAI base URL)', path: 'v1', needs: post('/v1/audio/speech') },
  { title: 'XTTS apps', path: '', needs: post('/tts_to_audio') },
  { title: 'MCP clients', path: 'mcp', needs: post('/mcp') },
];

export function isAvailable({ needs }: App, endpoints: readonly Endpoint[]): boolean {
  return endpoints.some(({ method, path }) => method === needs.method && path === needs.path);
}
