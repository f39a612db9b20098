import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import sharp from 'sharp';
import { build } from './build.mjs';
import { root } from './set-up.mjs';

// The pages as docs/pages.md shows them: `node scripts/screenshots.mjs` makes them all anew, with the embedded models and a
// Chromium that is installed (`PARLEY_CHROMIUM` names another place of it). With names of scenes and sizes, only those.
const folder = fileURLToPath(new URL('docs/screenshots/', root));
const browserProgram = process.env.PARLEY_CHROMIUM ?? '/usr/bin/chromium';
const sizes = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
};

const chat = ['Hello! What can you do?', 'Tell me a very short story about a lighthouse.'];

const mara = {
  spec: 'chara_card_v2',
  spec_version: '2.0',
  data: {
    name: 'Mara',
    description: '{{char}} keeps the lighthouse of a small island. She is dry, patient and curious about visitors.',
    personality: 'patient, dry, observant',
    scenario: '{{user}} has come in from the storm.',
    first_mes: '*She looks up from the log book.* "The lamp is lit, {{user}}. Sit down. Nobody sails in this weather."',
    alternate_greetings: ['*The door bangs.* "Close it behind you, {{user}}."'],
    mes_example: '',
    character_book: {
      entries: [
        {
          keys: ['storm'],
          content: 'The storm of 1911 took two boats.',
          enabled: true,
          insertion_order: 1,
          extensions: {},
        },
      ],
      extensions: {},
    },
    tags: ['sea'],
    extensions: {},
  },
};

const question = [
  { role: 'system', content: 'Answer in one sentence.' },
  { role: 'user', content: 'What does a lighthouse do?' },
];
const inspectedRequests = [
  ['/api/v1/generate', { prompt: 'Once upon a time', max_length: 12 }],
  ['/api/chat', { messages: question, options: { num_predict: 20 } }],
  ['/v1/messages', { messages: question.slice(1), max_tokens: 20 }],
  ['/v1/embeddings', { input: 'a lighthouse' }],
  ['/v1/chat/completions', { messages: question, max_tokens: 20, temperature: 0, top_k: 20, stream: true }],
  ['/v1/responses', { input: [{ role: 'pilot', content: 'Hello' }] }],
];

/** What the server says of conversations: a turn for each list of tokens (cached, computed, written). */
const conversation = (number, client, loss, ...turns) => ({
  number,
  client,
  key: null,
  model: 'Qwen3-8B-Q4_K_M',
  sub_agent: false,
  started: '2026-03-18T09:30:00Z',
  turns: turns.filter(([, , , task]) => !task).length,
  side_requests: turns.filter(([, , , task]) => task).length,
  cached_tokens: 0,
  computed_tokens: 0,
  written_tokens: 0,
  saved_seconds: turns.reduce((sum, [cached]) => sum + cached, 0) / 220,
  lost_seconds: loss ? loss.seconds : 0,
  history: turns.map(([cached, computed, written, task = null], index) => ({
    time: `2026-03-18T09:${31 + index}:00Z`,
    task,
    prompt_tokens: cached + computed,
    cached_tokens: cached,
    computed_tokens: computed,
    written_tokens: written,
    first_token_ms: Math.round(computed * 4.5) + 90,
    loss: loss && index === turns.length - 1 ? loss : null,
  })),
});
const reported = {
  enabled: true,
  conversations: [
    conversation(
      3,
      'Open WebUI',
      {
        cause: 'changed',
        tokens: 5720,
        seconds: 26,
        at: 212,
        before: 'You are a helpful assistant. The current time is ',
        was: '09:36. Use the',
        is: '09:37. Use the',
      },
      [0, 4100, 380],
      [0, 640, 12, 'title'],
      [4480, 260, 410],
      [0, 710, 64, 'follow-ups'],
      [5150, 120, 690],
      [212, 5930, 350],
    ),
    conversation(
      2,
      'Claude Code',
      undefined,
      [0, 10_900, 220],
      [11_120, 840, 310],
      [12_270, 420, 95],
      [12_780, 1530, 402],
    ),
    conversation(1, 'Codex', undefined, [0, 9800, 190], [9990, 610, 240]),
  ],
};

/** What the server says of a model on the hub, which is not asked. */
const hubModel = {
  id: 'Qwen/Qwen3-8B-GGUF',
  downloads: 1_200_000,
  likes: 310,
  changed: '2026-03-18T00:00:00Z',
  gated: 'no',
  licence: 'apache-2.0',
  parameters: 8_190_735_360,
  architecture: 'qwen3',
  supported: true,
  context: 40_960,
  tools: true,
  thinking: true,
  projector: false,
};
const hubFiles = {
  model: hubModel.id,
  commit: '',
  architecture: 'qwen3',
  supported: true,
  context: 16_384,
  trained_context: 40_960,
  files: [
    ['Q8_0', 8_709_518_112, 'part', 'slow'],
    ['Q6_K', 6_725_899_040, 'part', 'good'],
    ['Q5_K_M', 5_851_112_224, 'card', 'fast'],
    ['Q4_K_M', 5_027_783_488, 'card', 'fast'],
  ].map(([name, bytes, fit, speed]) => ({
    name,
    bytes,
    fit,
    speed,
    parts: 1,
    chosen: name === 'Q5_K_M',
    memory_bytes: bytes + 2_900_000_000,
    card_layers: fit === 'card' ? 37 : 29,
    layers: 37,
  })),
  reason: 'The largest useful one that fits on the graphics card with a context of 16,384.',
  projector: null,
  draft: null,
};

/** What the server says of collections that were added some time ago. */
const collection = (id, name, description, counts, passages, bytes, more = {}) => ({
  id,
  name,
  description,
  created_at: 1_770_000_000,
  last_active_at: 1_770_000_000,
  bytes,
  passages,
  files: { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0, ...counts },
  folders: [],
  embedding: 'bge-small-en-v1.5',
  is_outdated: false,
  metadata: {},
  expires_after_days: null,
  ...more,
});
const collectionFile = (id, name, bytes, passages, more = {}) => ({
  id,
  name,
  bytes,
  passages,
  created_at: 1_770_000_000,
  status: 'completed',
  progress: 1,
  error: null,
  attributes: {},
  ...more,
});
const lighthouse = {
  folders: [{ path: '/home/mara/lighthouse', include: ['*.pdf', '*.md'], exclude: ['drafts/**'], max_file_bytes: 1e8 }],
};
const knowledge = {
  collections: [
    collection(
      'vs_1',
      'Lighthouse',
      'The manual of the lamp, and the log books since 1911.',
      { in_progress: 1, completed: 3, failed: 1, total: 5 },
      1284,
      18_400_000,
      lighthouse,
    ),
    collection('vs_2', 'Recipes', '', { completed: 42, total: 42 }, 310, 900_000),
    collection('vs_3', 'Tax papers', 'Letters and receipts.', { completed: 17, total: 17 }, 96, 5_200_000, {
      is_outdated: true,
    }),
  ],
  can_add_folders: true,
};
const knowledgeFiles = [
  collectionFile('file-1', 'Log book 1911.epub', 3_100_000, 0, { status: 'in_progress', progress: 0.4 }),
  collectionFile('file-2', 'Chart of the bay.pdf', 5_000_000, 0, {
    status: 'failed',
    error: { code: 'unsupported_file', message: 'This PDF has no text: it probably consists of scanned pages.' },
  }),
  collectionFile('file-3', 'Manual of the lamp.pdf', 9_800_000, 1012),
  collectionFile('file-4', 'Storms.md', 21_000, 40, { path: 'notes/Storms.md' }),
  collectionFile('file-5', 'Tides.md', 18_000, 31, { path: 'notes/Tides.md' }),
];
const lampText =
  'At dusk the keeper trims the wick, fills the reservoir and lights the lamp. In fog it burns by day as well.';
const stormText = 'In a storm from the west the shutters on the gallery are closed before the lamp is lit.';
const lampPassage = {
  passage: 'vs_1.212',
  collection: 'vs_1',
  file: 'file-3',
  name: 'Manual of the lamp.pdf',
  page: 12,
  headings: ['The lamp', 'Every evening'],
  start: 1000,
  end: 1000 + lampText.length,
  text: lampText,
  attributes: {},
  score: 0.94,
  found: { vector: 1, keywords: 2, reranked: 0.94 },
};
const stormPassage = {
  passage: 'vs_1.1031',
  collection: 'vs_1',
  file: 'file-4',
  name: 'Storms.md',
  headings: ['From the west'],
  line: 18,
  start: 600,
  end: 600 + stormText.length,
  text: stormText,
  attributes: {},
  score: 0.71,
  found: { vector: 3, keywords: 1, reranked: 0.71 },
};
const aroundLamp = {
  before:
    'The lens is wiped with a dry cloth each morning, from the top to the bottom. Spirits are used once a week, and never on the brass.\n\nEvery evening\n\n',
  after:
    '\n\nThe log book has the time of lighting, the weather, and the name of the keeper on watch. Who relieves the watch reads the last entry aloud and signs below it.\n\nThe clockwork is wound every four hours. When the weight is at its lowest, the lens turns for a quarter of an hour more.',
};

/** What the server says of the people of a household. */
const person = (name, scopes, more = {}) => ({
  name,
  scopes,
  rate: null,
  tokens_per_day: null,
  tokens_today: 0,
  weight: 1,
  shared: false,
  requests: 0,
  refused: 0,
  created: null,
  expires: null,
  last_seen: null,
  ...more,
});
const everything = ['text', 'chat', 'images', 'audio', 'embeddings', 'tools', 'documents'];
const household = () => {
  const ago = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();
  const device = (id, name, device, used, current = false) => ({
    id,
    type: 'key',
    name,
    scopes: everything,
    device,
    created: ago(40_000),
    last_used: ago(used),
    current,
  });
  const use = (name, requests, prompt_tokens, completion_tokens, images = 0) => ({
    day: '2026-03-18',
    type: 'key',
    name,
    requests,
    prompt_tokens,
    completion_tokens,
    images,
    audio_seconds_in: 0,
    audio_seconds_out: 0,
  });
  const anna = [device('1', 'Anna', 'Chrome, Windows', 1, true), device('2', 'Anna', 'Safari, iPhone', 190)];
  return {
    session: { type: 'key', name: 'Anna', scopes: [...everything, 'admin'], devices: anna },
    keys: [
      person('Anna', [...everything, 'admin'], { requests: 214, tokens_today: 48_200, last_seen: ago(1) }),
      person('Ben', ['text', 'chat', 'images'], {
        requests: 31,
        tokens_today: 152_000,
        tokens_per_day: 200_000,
        rate: 30,
        last_seen: ago(25),
      }),
      person('Home Assistant', ['audio', 'chat'], { requests: 96, tokens_today: 9100, weight: 0.5, last_seen: ago(4) }),
    ],
    usage: [
      use('Anna', 1904, 4_210_000, 612_000, 37),
      use('Ben', 402, 1_120_000, 240_000, 12),
      use('Home Assistant', 2210, 388_000, 61_000),
    ],
    sessions: [...anna, device('3', 'Ben', 'Chrome, Android', 25)],
    invitation: {
      id: 'inv_1',
      name: 'Clara',
      existing: false,
      created: ago(3),
      expires: ago(-12),
      minutes_left: 12,
      by: 'Anna',
    },
  };
};

/** A server with keys, on which an administrator is signed in. */
async function withPeople(page, base, tab = 'people') {
  const { session, keys, usage, sessions, invitation } = household();
  const models = await (await fetch(`${base}/api/extra/models`)).json();
  const admin = { enabled: true, allowed: true, key_file: true };
  const answers = {
    'extra/models': { ...models, admin },
    'extra/session': session,
    'extra/lan': {
      enabled: true,
      public: true,
      addresses: ['192.168.1.20'],
      names: ['parley.local'],
      port: 5001,
      fingerprint: null,
    },
    'admin/keys': keys,
    'admin/usage': usage,
    'admin/sessions': { sessions },
  };
  for (const [path, json] of Object.entries(answers))
    await page.route(new RegExp(`/api/${path}(\\?.*)?$`), (route) => route.fulfill({ json }));
  await page.route(/\/api\/admin\/invitations$/, (route) => {
    const token = 'Rk3v9mX2cQeT7wLpZ4bNs1yA';
    const issued = {
      ...invitation,
      created: new Date().toISOString(),
      expires: new Date(Date.now() + 900_000).toISOString(),
    };
    const isNew = route.request().method() === 'POST';
    route.fulfill({ json: isNew ? { ...issued, token, path: `/join#${token}` } : { invitations: [invitation] } });
  });
  await page.goto(`${base}/#/settings/${tab}`);
  await page.getByRole('dialog').getByText('Open invitations').waitFor();
}

/** A server with collections; the model writes what is given here. */
async function withKnowledge(page, base, { collections = knowledge, reply = '' } = {}) {
  const features = await (await fetch(`${base}/api/extra/version`)).json();
  const chunk = (choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
  const stream = `${chunk({ delta: { content: reply } })}${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`;
  await page.route(/\/api\/extra\/version$/, (route) => route.fulfill({ json: { ...features, documents: true } }));
  await page.route(/\/api\/extra\/documents$/, (route) => route.fulfill({ json: collections }));
  await page.route(/\/documents\/vs_1\/files$/, (route) => route.fulfill({ json: { files: knowledgeFiles } }));
  await page.route(/\/documents\/search$/, (route) =>
    route.fulfill({ json: { queries: [], results: [lampPassage, stormPassage], notes: [] } }),
  );
  await page.route(/\/documents\/passages\//, (route) => route.fulfill({ json: { ...lampPassage, ...aroundLamp } }));
  if (reply !== '')
    await page.route(/\/v1\/chat\/completions$/, (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: stream }),
    );
}

/** Each brings a fresh page to what is to be seen. */
const scenes = {
  'chat-first-visit': async (page, base) => {
    await page.goto(`${base}/#/chat`);
    await page.getByLabel('Message').waitFor();
  },
  chat: async (page, base) => {
    await page.goto(`${base}/#/chat`);
    for (const words of chat) {
      await page.getByLabel('Message', { exact: true }).fill(words);
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByRole('button', { name: 'Stop', exact: true }).waitFor();
      await page.getByRole('button', { name: 'Send', exact: true }).waitFor({ timeout: 90_000 });
    }
  },
  talk: async (page, base) => {
    await page.goto(`${base}/#/chat`);
    await page.getByRole('button', { name: 'Talk', exact: true }).click();
    await page.getByText('Listening').waitFor();
    await page.getByLabel('Message', { exact: true }).fill('Hello, who are you?');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Speak to interrupt.').waitFor({ timeout: 90_000 });
    await page.getByText('--model').waitFor({ timeout: 30_000 });
  },
  write: async (page, base) => {
    await page.goto(`${base}/#/write`);
    await page
      .getByRole('button', { name: /lighthouse|story/i })
      .first()
      .click();
    await page.evaluate(() =>
      localStorage.setItem(
        'parley.settings',
        JSON.stringify({ replyLength: 70, sampling: { rep_pen: 1.1, min_p: 0.1 } }),
      ),
    );
    await page.reload();
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor({ state: 'detached', timeout: 90_000 });
  },
  draw: async (page, base) => {
    await page.goto(`${base}/#/draw`);
    await page.getByLabel('Prompt', { exact: true }).fill('a fox face');
    await page.getByLabel('Seed').fill('3');
    await page.getByRole('spinbutton', { name: 'Images' }).fill('2');
    await page.getByRole('button', { name: 'Draw image', exact: true }).click();
    await page.getByRole('list', { name: 'History' }).waitFor({ timeout: 120_000 });
  },
  sound: async (page, base) => {
    await page.goto(`${base}/#/sound`);
    await page
      .getByLabel('Text to speak')
      .fill('The weather in Paris is lovely today. We will meet at the station at seven.');
  },
  settings: async (page, base) => {
    await page.goto(`${base}/#/chat`);
    await page.getByLabel('Message', { exact: true }).waitFor();
    await page.goto(`${base}/#/settings/samplers`);
    await page.getByRole('dialog').getByRole('tab', { name: 'Samplers' }).waitFor();
  },
  people: async (page, base) => {
    await withPeople(page, base);
    await page.getByText('Ben', { exact: true }).first().click();
    await page.getByText('In 30 days').nth(1).waitFor();
  },
  'people-invite': async (page, base) => {
    await withPeople(page, base);
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('Clara');
  },
  'people-link': async (page, base) => {
    await withPeople(page, base);
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('Clara');
    await page.getByRole('button', { name: 'Make the invitation' }).click();
    await page.getByRole('img', { name: 'QR code of the link' }).waitFor();
  },
  'people-remove': async (page, base) => {
    await withPeople(page, base);
    await page.getByText('Ben', { exact: true }).first().click();
    await page.getByRole('button', { name: 'Remove', exact: true }).nth(0).click();
    await page.getByText('Data on the server').waitFor();
  },
  join: async (page, base) => {
    const { invitation } = household();
    const json = {
      ...invitation,
      scopes: ['chat', 'images', 'text'],
      tokens_per_day: 200_000,
      shared: false,
      state: 'open',
    };
    await page.route(/\/api\/extra\/join\/preview$/, (route) => route.fulfill({ json }));
    await page.goto(`${base}/join#Rk3v9mX2cQeT7wLpZ4bNs1yA`);
    await page.getByRole('button', { name: 'Join' }).waitFor();
  },
  'join-connection': async (page, base) => {
    const { invitation } = household();
    await page.route(/\/api\/extra\/join\/preview$/, (route) =>
      route.fulfill({ json: { ...invitation, state: 'open' } }),
    );
    await page.route(/\/api\/extra\/join$/, (route) =>
      route.fulfill({ json: { type: 'key', name: 'Clara', scopes: [] } }),
    );
    await page.route(/^http:.*\/api\/extra\/lan$/, (route) =>
      route.fulfill({ json: { enabled: true, fingerprint: 'AB:CD' } }),
    );
    await page.addInitScript("Object.defineProperty(globalThis, 'isSecureContext', { value: false })");
    await page.goto(`${base}/join#Rk3v9mX2cQeT7wLpZ4bNs1yA`);
    await page.getByRole('button', { name: 'Join' }).click();
    await page.getByRole('button', { name: 'Open with HTTPS' }).waitFor();
  },
  'sign-in': async (page, base) => {
    const locked = {
      status: 401,
      json: { detail: { error: 'Unauthorized', msg: 'Authentication key is missing or invalid.' } },
    };
    await page.route(/\/api\/extra\/models$/, (route) => route.fulfill(locked));
    await page.goto(`${base}/#/chat`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Key or password').waitFor();
  },
  models: async (page, base) => {
    await page.goto(`${base}/#/chat`);
    await page
      .getByRole('button', { name: /parley-mini/ })
      .first()
      .click();
    await page.getByRole('dialog').waitFor();
  },
  'models-found': async (page, base) => {
    await page.route(/\/api\/admin\/search\?/, (route) => route.fulfill({ json: { models: [hubModel], next: null } }));
    await page.route(/\/api\/admin\/search\/files\?/, (route) => route.fulfill({ json: hubFiles }));
    await scenes.models(page, base);
    const words = page.getByLabel('Words, or the address of a model');
    await words.fill('qwen3 8b');
    await words.press('Enter');
    await page.getByRole('button', { name: hubModel.id, exact: true }).click();
    await page.getByText(/Choose among/).click();
    await page.getByRole('radio').last().scrollIntoViewIfNeeded();
  },
  character: async (page, base) => {
    await page.goto(`${base}/#/chat`);
    await page.getByLabel('Message', { exact: true }).waitFor();
    const files = page.getByLabel('Files to import');
    if ((await files.count()) === 0) await page.getByRole('button', { name: 'Chats' }).click();
    await files.setInputFiles({
      name: 'mara.json',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(mara)),
    });
    await page.getByText('The lamp is lit').waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
  },
  launcher: async (page) => {
    await page.goto(await start(['--showgui'], /launcher is at (\S+)/));
    await page.getByRole('tab').first().waitFor();
  },
  inspector: async (page) => {
    const inspected = await start(
      ['--port', '0', '--quiet', '--admin', '--inspect', '50'],
      /connect to custom endpoint at (\S+)/,
    );
    for (const [path, body] of inspectedRequests) {
      await (await fetch(`${inspected}${path}`, { method: 'POST', body: JSON.stringify(body) })).text();
    }
    await page.goto(`${inspected}/inspector`);
    if (page.viewportSize().width > 900) {
      await page.getByRole('link', { name: /chat\/completions/ }).click();
      await page.getByRole('region', { name: 'Anthropic Messages', exact: true }).getByText('200').waitFor();
    } else await page.getByRole('link', { name: /chat\/completions/ }).waitFor();
  },
  'inspector-prompt': async (page) => {
    await scenes.inspector(page);
    const link = page.getByRole('link', { name: /chat\/completions/ });
    if (page.viewportSize().width <= 900) await link.click();
    await page.getByRole('tab', { name: 'Prompt' }).click();
    await page.locator('mark').first().waitFor();
  },
  'knowledge-empty': async (page, base) => {
    await withKnowledge(page, base, { collections: { collections: [], can_add_folders: true } });
    await page.goto(`${base}/#/knowledge`);
    await page.getByText('Drop files here to begin.').waitFor();
  },
  knowledge: async (page, base) => {
    await withKnowledge(page, base);
    await page.goto(`${base}/#/knowledge`);
    await page.getByRole('link', { name: /Recipes/ }).waitFor();
  },
  'knowledge-collection': async (page, base) => {
    await withKnowledge(page, base);
    await page.goto(`${base}/#/knowledge/vs_1`);
    await page.getByText('Storms.md').waitFor();
  },
  'knowledge-search': async (page, base) => {
    await scenes['knowledge-collection'](page, base);
    await page.getByRole('searchbox', { name: 'Search this collection' }).fill('When is the lamp lit?');
    await page.keyboard.press('Enter');
    await page.getByText('2nd by words').waitFor();
  },
  'knowledge-passage': async (page, base) => {
    await withKnowledge(page, base);
    await page.goto(`${base}/documents/vs_1.212`);
    await page.locator('mark').waitFor();
  },
  'knowledge-chat': async (page, base) => {
    await withKnowledge(page, base, {
      reply:
        'The lamp is lit **at dusk**, after the wick is trimmed and the reservoir is filled [1]. In fog it burns by day as well [1].\n\nIn a storm from the west, close the shutters on the gallery first [2].',
    });
    await page.goto(`${base}/#/chat`);
    await page.getByLabel('Message', { exact: true }).pressSequentially('#light');
    await page.getByRole('option').waitFor();
    await page.keyboard.press('Enter');
    await page.getByLabel('Message', { exact: true }).fill('When is the lamp lit, and what changes in a storm?');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Sources' }).getByText('2 of 2 cited.').click();
    await page.getByLabel('Message', { exact: true }).pressSequentially('And where is it #');
    await page.getByRole('option').first().waitFor();
  },
  /** Of the answer of a server on which agents worked for an hour. */
  conversations: async (page, base) => {
    await page.route(/\/api\/extra\/conversations$/, (route) => route.fulfill({ json: reported }));
    await page.goto(`${base}/conversations#/3`);
    await page.getByRole('region', { name: 'Computed again' }).first().waitFor();
  },
  'conversations-overview': async (page, base) => {
    await page.route(/\/api\/extra\/conversations$/, (route) => route.fulfill({ json: reported }));
    await page.goto(`${base}/conversations`);
    await page.getByRole('heading', { name: 'What lost the most' }).waitFor();
  },
  'conversations-empty': async (page, base) => {
    await page.goto(`${base}/conversations`);
    await page.getByRole('heading', { name: 'See where the time of your agents goes' }).waitFor();
  },
  api: async (page, base) => {
    await page.goto(`${base}/api`);
    await page.getByRole('heading').first().waitFor();
  },
};

await build();
const program = fileURLToPath(new URL('dist/main.js', root));
const started = [];
// As on a machine that Parley has never seen.
const home = mkdtempSync(join(tmpdir(), 'parley-screenshots-'));
mkdirSync(folder, { recursive: true });
const base = await start(['--port', '0', '--quiet'], /connect to custom endpoint at (\S+)/);
const browser = await chromium.launch({
  executablePath: browserProgram,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    // A microphone in a quiet room, for spoken conversations.
    '--use-fake-ui-for-media-stream',
    '--use-fake-device-for-media-stream',
    `--use-file-for-fake-audio-capture=${silence()}`,
  ],
});
try {
  const isWanted = (name, all) => {
    const selected = Object.keys(all).filter((one) => process.argv.includes(one));
    return selected.length === 0 || selected.includes(name);
  };
  for (const [name, prepare] of Object.entries(scenes)) {
    if (!isWanted(name, scenes)) continue;
    for (const [size, device] of Object.entries(sizes)) {
      if (!isWanted(size, sizes)) continue;
      const context = await browser.newContext({ ...device, colorScheme: 'light', deviceScaleFactor: 1.5 });
      const page = await context.newPage();
      page.setDefaultTimeout(30_000);
      await prepare(page, base);
      await page.waitForTimeout(600);
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        await page.waitForTimeout(300);
        const file = `${folder}${name}-${size}-${colorScheme}.webp`;
        await sharp(await page.screenshot())
          .webp({ quality: 82 })
          .toFile(file);
        console.log(file);
      }
      await context.close();
    }
  }
} finally {
  await browser.close();
  for (const process of started) process.kill();
}

/** A WAV file of ten seconds without a sound. */
function silence() {
  const rate = 24_000;
  const sound = Buffer.alloc(44 + 2 * 10 * rate);
  sound.write('RIFF', 0);
  sound.writeUInt32LE(sound.length - 8, 4);
  sound.write('WAVEfmt ', 8);
  for (const [at, value] of [
    [16, 16],
    [24, rate],
    [28, 2 * rate],
    [40, sound.length - 44],
  ])
    sound.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ])
    sound.writeUInt16LE(value, at);
  sound.write('data', 36);
  const file = join(mkdtempSync(join(tmpdir(), 'parley-screenshots-')), 'silence.wav');
  writeFileSync(file, sound);
  return file;
}

/** The address that a program says when it is ready. */
function start(flags, address) {
  const child = spawn(process.execPath, [program, ...flags], {
    env: { ...process.env, DISPLAY: '', WAYLAND_DISPLAY: '', PARLEY_HOME: home },
  });
  started.push(child);
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (text) => {
      output += text;
      const match = address.exec(output);
      if (match) resolve(match[1]);
    });
    child.once('exit', () => reject(new Error(output)));
  });
}
