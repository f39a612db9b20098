/** Texts of the header of a chat and of the dialog for other apps. */
export const texts = {
  header: {
    chats: 'Chats',
    newChat: 'New chat',
    untitled: 'Untitled chat',
    queue: (requests: number) => `${requests} queued`,
    queueTitle: 'Requests in the queue',
    undo: 'Undo',
    redo: 'Redo',
    menu: 'Chat menu',
  },
  gauge: {
    label: (words: string) => `Context: ${words}`,
    share: (share: number) => `${Math.round(share * 100)} %`,
    use: (used: number, context: number, reserved: number) =>
      `${used.toLocaleString('en')} of ${context.toLocaleString('en')} tokens used, ${reserved.toLocaleString('en')} reserved for the reply.`,
    dropped: (messages: number) => `The first ${messages === 1 ? 'message is' : `${messages} messages are`} not sent.`,
  },
  connect: {
    title: 'Connect an app',
    help: 'Apps for other servers work with this one. Set the address below in the app; any model name works.',
    needsPassword: 'Apps also need the password of this server as their API key.',
    anyKey: 'If an app requires a key, enter any text.',
    endpoints: 'All endpoints',
    /** By the path below the address of this server. */
    apps: [
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
    ],
  },
} as const;
