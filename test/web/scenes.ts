import type { Page } from 'playwright-core';

export interface Servers {
  /** Of a server with `--admin --inspect`. */
  readonly base: string;
  /** Of the launcher, with its token; works once. */
  readonly launcher: string;
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const message = (page: Page) => page.getByLabel('Message', { exact: true });
const isOpen = (page: Page) => page.getByRole('dialog').last().waitFor();

/** What the model answers here: the text of a real one is not of interest, and takes a while. */
const answer = `It marks the coast. **At dusk** the lamp is lit.

| Hour | Light | Weather | Keeper on watch | Remarks in the log book |
| ---- | ----- | ------- | --------------- | ----------------------- |
| 18   | lit   | fog     | Mara            | the horn every minute   |

\`\`\`js
const aLongLine = { of: 'code', that: 'does not fit into the width of a telephone', whatever: 'is done about it' };
\`\`\`

See https://www.example.org/a/very/long/address/without/any/place/to/break/it/in/two?page=1234567890`;

async function withAnswers(page: Page): Promise<void> {
  const event = (choice: object) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
  const body = `${event({ delta: { content: answer } })}${event({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`;
  await page.route(/\/v1\/chat\/completions$/, (route) => route.fulfill({ contentType: 'text/event-stream', body }));
}

async function chat(page: Page, { base }: Servers): Promise<void> {
  await withAnswers(page);
  await page.goto(`${base}/#/chat`);
  await message(page).fill('What does a lighthouse do?');
  await button(page, 'Send').click();
  await button(page, 'Retry').waitFor();
}

const menu = (entry: string) => async (page: Page, servers: Servers) => {
  await chat(page, servers);
  await button(page, 'Chat menu').click();
  await page.getByRole('menuitem', { name: entry, exact: true }).click();
  await isOpen(page);
};

const tab =
  (name: string) =>
  async (page: Page, { base }: Servers) => {
    await page.goto(`${base}/#/chat`);
    await message(page).waitFor();
    await page.goto(`${base}/#/settings/${name}`);
    await page.getByRole('dialog').getByRole('tab', { selected: true }).waitFor();
  };

async function inspected({ base }: Servers): Promise<void> {
  const messages = [{ role: 'user', content: 'What does a lighthouse do?' }];
  const body = JSON.stringify({ messages, max_tokens: 2 });
  await (await fetch(`${base}/v1/chat/completions`, { method: 'POST', body })).text();
}

/** Every page, with its panels and dialogs; each function brings a fresh page there. */
export const scenes: Readonly<Record<string, (page: Page, servers: Servers) => Promise<void>>> = {
  'first visit': async (page, { base }) => {
    await page.goto(`${base}/#/chat`);
    await page.getByRole('heading', { name: 'How can I help?' }).waitFor();
  },
  chat,
  'edited message': async (page, servers) => {
    await chat(page, servers);
    await page.locator('article.user').getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Edit text').waitFor();
  },
  'chat menu': async (page, servers) => {
    await chat(page, servers);
    await button(page, 'Chat menu').click();
    await page.getByRole('menuitem').first().waitFor();
  },
  'chat settings': menu('Chat settings'),
  'tools dialog': menu('Tools'),
  'compare dialog': menu('Compare models'),
  'prompt dialog': menu('Show prompt'),
  'connect dialog': menu('Connect an app'),
  shortcuts: menu('Keyboard shortcuts'),
  comparison: async (page, servers) => {
    await scenes['compare dialog']?.(page, servers);
    await button(page, 'Compare').click();
    await button(page, /^Choose /)
      .first()
      .waitFor();
  },
  'queued messages': async (page, servers) => {
    await page.unrouteAll();
    // A reply that does not end.
    await page.route(/\/v1\/chat\/completions$/, () => {});
    await page.goto(`${servers.base}/#/chat`);
    await message(page).fill('What does a lighthouse do?');
    await button(page, 'Send').click();
    await button(page, 'Stop').waitFor();
    await message(page).fill('And in fog, when the light is not seen from the boats that come home late?');
    await button(page, 'Send after the reply').click();
    await page.getByText('Sent when the reply is done').waitFor();
  },
  'slash commands': async (page, { base }) => {
    await page.goto(`${base}/#/chat`);
    await message(page).pressSequentially('/');
    await page.getByRole('option').first().waitFor();
  },
  talk: async (page, { base }) => {
    await page.goto(`${base}/#/chat`);
    await button(page, 'Talk').click();
    await button(page, 'Switch the microphone off').waitFor();
  },
  library: async (page, servers) => {
    await chat(page, servers);
    const list = page.getByLabel('Search chats and stories');
    await button(page, 'Chats').click();
    await list.waitFor();
  },
  'model panel': async (page, { base }) => {
    await page.goto(`${base}/#/chat`);
    await page.getByRole('button', { name: /^Model: / }).click();
    await page.getByRole('dialog').getByText('Log of the server').waitFor();
  },
  characters: async (page, { base }) => {
    await page.goto(`${base}/#/chat`);
    await page.getByRole('button', { name: /^Play/ }).click();
    await isOpen(page);
  },
  'write, start': async (page, { base }) => {
    await page.goto(`${base}/#/write`);
    await page.getByRole('main').getByRole('heading').first().waitFor();
  },
  write: async (page, { base }) => {
    await page.goto(`${base}/#/write`);
    await page
      .getByRole('button', { name: /lighthouse|story/i })
      .first()
      .click();
    await button(page, 'Continue').waitFor();
  },
  draw: async (page, { base }) => {
    await page.goto(`${base}/#/draw`);
    await page.getByLabel('Prompt', { exact: true }).waitFor();
  },
  sound: async (page, { base }) => {
    await page.goto(`${base}/#/sound`);
    await page.getByLabel('Text to speak').waitFor();
  },
  knowledge: async (page, { base }) => {
    await page.goto(`${base}/#/knowledge`);
    await page.getByRole('main').getByRole('heading').first().waitFor();
  },
  ...Object.fromEntries(
    ['general', 'replies', 'samplers', 'output', 'scripts', 'data', 'people', 'about'].map((name) => [
      `settings, ${name}`,
      tab(name),
    ]),
  ),
  'quick reply': async (page, servers) => {
    await tab('scripts')(page, servers);
    await button(page, 'New quick reply').click();
    await page.getByLabel('Text', { exact: true }).waitFor();
  },
  'regex script': async (page, servers) => {
    await tab('scripts')(page, servers);
    await button(page, 'New script').click();
    await page.getByLabel('Replace with').waitFor();
  },
  api: async (page, { base }) => {
    await page.goto(`${base}/api`);
    await page.getByRole('heading').nth(1).waitFor();
  },
  inspector: async (page, servers) => {
    await inspected(servers);
    await page.goto(`${servers.base}/inspector`);
    await page
      .getByRole('link', { name: /chat\/completions/ })
      .first()
      .waitFor();
  },
  'inspected request': async (page, servers) => {
    await scenes.inspector?.(page, servers);
    await page
      .getByRole('link', { name: /chat\/completions/ })
      .first()
      .click();
    await page.getByRole('tab').first().waitFor();
  },
  conversations: async (page, { base }) => {
    await page.goto(`${base}/conversations`);
    await page.getByRole('main').getByRole('heading').first().waitFor();
  },
  invitation: async (page, { base }) => {
    const invited = {
      name: 'Mara',
      existing: false,
      scopes: ['text', 'images'],
      minutes_left: 14,
      by: 'console',
      state: 'open',
    };
    await page.route(/\/join\/preview$/, (route) => route.fulfill({ json: invited }));
    await page.goto(`${base}/join#token`);
    await button(page, 'Join').waitFor();
  },
  lan: async (page, { base }) => {
    await page.goto(`${base}/lan`);
    await page.getByRole('main').waitFor();
  },
  launcher: async (page, { launcher }) => {
    await page.goto(launcher);
    await page.getByRole('tab').first().waitFor();
  },
};
