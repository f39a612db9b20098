import { number, plural, translatable } from '../../languages/index.ts';

/** Texts of the header of a chat and of the dialog for other apps. */
export const texts = translatable('chatHeader', {
  header: {
    chats: 'Chats',
    newChat: 'New chat',
    untitled: 'Untitled chat',
    queue: (requests: number) => `${number(requests)} queued`,
    queueTitle: 'Requests in the queue',
    undo: 'Undo',
    redo: 'Redo',
    menu: 'Chat menu',
  },
  gauge: {
    label: (words: string) => `Context: ${words}`,
    share: (share: number) => `${Math.round(share * 100)} %`,
    use: (used: number, context: number, reserved: number) =>
      `${number(used)} of ${number(context)} tokens used, ${number(reserved)} reserved for the reply.`,
    dropped: (messages: number) =>
      plural(messages, { one: 'The first message is not sent.', other: 'The first # messages are not sent.' }),
  },
  connect: {
    title: 'Connect an app',
    help: 'Apps for other servers work with this one. Set the address below in the app; any model name works.',
    needsPassword: 'Apps also need the password of this server as their API key.',
    anyKey: 'If an app requires a key, enter any text.',
    endpoints: 'All endpoints',
    apps: {
      kobold: 'KoboldAI clients',
      openai: 'OpenAI SDKs and apps (base URL)',
      anthropic: 'Anthropic SDKs and apps (base URL)',
      ollama: 'Ollama apps (host)',
      llamacpp: 'llama.cpp clients',
      sdwebui: 'Stable Diffusion web UI apps',
      comfy: 'ComfyUI apps',
      speech: 'Speech apps (OpenAI base URL)',
      xtts: 'XTTS apps',
      mcp: 'MCP clients',
    },
  },
});
