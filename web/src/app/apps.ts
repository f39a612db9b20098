/** Kinds of programs, and the address that each wants to be given, below that of this server. */
export const apps: readonly { readonly title: string; readonly path: string }[] = [
  { title: 'KoboldAI clients', path: '' },
  { title: 'OpenAI SDKs and apps (base URL)', path: 'v1' },
  { title: 'Anthropic SDKs and apps (base URL)', path: '' },
  { title: 'Ollama apps (host)', path: '' },
  { title: 'llama.cpp clients', path: '' },
  { title: 'Stable Diffusion web UI apps', path: '' },
  { title: 'ComfyUI apps', path: '' },
  { title: 'Speech apps (OpenAI base URL)', path: 'v1' },
  { title: 'XTTS apps', path: '' },
  { title: 'MCP clients', path: 'mcp' },
];
