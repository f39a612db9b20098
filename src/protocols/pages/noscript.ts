import { asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { refuseWithoutModel } from '../../core/model-error.ts';
import type { TextService } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import type { Call, Family, Reply } from '../../http/call.ts';
import { escapeHtml } from '../../http/pages.ts';
import type { StartTimer } from '../../http/timers.ts';
import { type ControlParts, decodeControls, readControls } from '../controls/decode.ts';
import { streamReply } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { ticketFor } from '../ticket.ts';
import { pagesFamily } from './errors.ts';
import { html, type Markup } from './html.ts';
import { formPageHeaders, pageEnd, pageStart } from './layout.ts';
import { type Asked, formMarkup, goingOn, promptOf, readForm } from './noscript-form.ts';

export interface NoscriptParts {
  readonly text: TextService;
  readonly controlParts: () => ControlParts;
  readonly applyDefaults: (body: JsonObject) => JsonObject;
  readonly replacePlaceholders: (texts: PromptTexts) => PromptTexts;
  readonly startTimer: StartTimer;
}

interface PromptTexts {
  readonly prompt: string;
  readonly memory: string;
  readonly stop: readonly string[];
}

/** A browser without scripts can send a key only when it is asked for one in its own way. */
const family: Family = {
  ...pagesFamily,
  errorReply(error) {
    const reply = pagesFamily.errorReply(error);
    if (error.code !== 'unauthorized') return reply;
    return { ...reply, headers: { ...reply.headers, 'www-authenticate': 'Basic realm="Parley", charset="UTF-8"' } };
  },
};

const common = { match: 'exact', path: '/noscript', family } as const;

/** A form and its answer, for browsers that run no scripts. */
export const noscriptEndpoints: readonly ModelEndpoint<NoscriptParts>[] = [
  {
    ...common,
    method: 'GET',
    access: 'open',
    queued: false,
    summary: 'A form to try the model, for browsers without scripts.',
    handle: () => formPage(readForm(new URLSearchParams())),
  },
  {
    ...common,
    method: 'POST',
    access: 'guarded',
    queued: true,
    summary: 'The answer to that form, as a page that grows while it is written.',
    handle: answer,
  },
];

const title = 'Parley without scripts';

function formPage(asked: Asked): Reply {
  const page = html`${pageStart(title)}
${heading}
<main>
${formMarkup(asked)}
</main>
${pageEnd}`;
  return { status: 200, headers: formPageHeaders, body: page.markup };
}

const heading = html`<header>
<h1>Parley</h1>
<p><a href="noscript">New</a> · <a href="api">All endpoints</a></p>
</header>`;

async function answer(call: Call, parts: NoscriptParts): Promise<Reply> {
  const asked = readForm(new URLSearchParams(call.body.toString('utf8')));
  refuseWithoutModel(parts.text.state());
  const { maxLength: max_length, temperature, topP: top_p } = asked;
  const controls = decodeControls(
    readControls(parts.applyDefaults({ max_length, temperature, top_p })),
    parts.controlParts(),
  );
  const marks = asked.kind === 'question' ? ['{{[INPUT]}}', '{{[OUTPUT]}}'] : [];
  const texts = parts.replacePlaceholders({ prompt: promptOf(asked), memory: '', stop: marks });
  const stop = texts.stop.filter((text) => text !== '');
  const ticket = ticketFor(call, '');
  return streamReply(
    parts.text.generate({ ...controls, ...texts, stop }, ticket),
    (events) => growingPage(asked, events),
    {
      headers: { ...formPageHeaders, 'x-accel-buffering': 'no' },
      filler: '<!-- -->',
      // Nobody sees a comment, and white space in a text would be part of it.
      notice: () => '<!-- waiting -->',
      ticket,
      startTimer: parts.startTimer,
    },
  );
}

/** The page up to the answer, the answer as it is written, and then the form to go on with. */
async function* growingPage(asked: Asked, events: AsyncIterable<GenerationEvent>): AsyncGenerator<string> {
  yield html`${pageStart(title)}
${heading}
<main>
${said(asked)}
<section aria-labelledby="answer-title">
<h2 id="answer-title">${asked.kind === 'story' ? 'The story goes on' : 'Answer'}</h2>
<pre aria-live="polite">`.markup;
  let reply = '';
  let ending: Markup = html``;
  try {
    for await (const event of events) {
      if (event.type === 'text-delta') {
        reply += event.text;
        yield escapeHtml(event.text);
      } else if (event.type === 'error') {
        ending = failure(event.error.message);
      } else if (event.type === 'finish' && event.reason === 'length') {
        ending = html`<p class="quiet">It ended at the reply length.</p>`;
      }
    }
  } catch (error) {
    ending = failure(asAppError(error).message);
  }
  yield html`</pre>
${ending}
</section>
${formMarkup(goingOn(asked, reply))}
</main>
${pageEnd}`.markup;
}

function failure(reason: string): Markup {
  return html`<p role="alert">It could not be finished: ${reason}</p>`;
}

function said({ kind, turns, text }: Asked): Markup {
  const before = kind === 'story' ? [text] : [...turns, text];
  return html`<section aria-labelledby="said-title">
<h2 id="said-title">${kind === 'story' ? 'Your text' : 'Said so far'}</h2>
${before.map((turn, index) => html`<pre>${kind === 'story' ? '' : index % 2 === 0 ? 'You: ' : 'Answer: '}${turn}</pre>`)}
</section>`;
}
