import { asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { refuseWithoutModel } from '../../core/text-service.ts';
import type { Call, Dialect, Reply } from '../../http/call.ts';
import { escapeHtml } from '../../http/pages.ts';
import { information, write } from '../access.ts';
import { decodeControls, readControls } from '../controls/decode.ts';
import { type CompletionContext, streamReply } from '../dialect.ts';
import { endpointRow, type ModelEndpoint, withServices } from '../endpoint.ts';
import { clamp } from '../fields.ts';
import { requestContextOf } from '../request-context.ts';
import { formPageHeaders, html, type Markup, pageEnd, pageStart, pagesDialect } from './page.ts';

type NoscriptContext = Pick<
  CompletionContext,
  'text' | 'controlLimits' | 'applyDefaults' | 'startTimer' | 'replacePlaceholders'
>;

/** A browser without scripts sends a key only in reply to a Basic challenge. */
const dialect: Dialect = {
  ...pagesDialect,
  errorReply(error) {
    const reply = pagesDialect.errorReply(error);
    if (error.code !== 'unauthorized') return reply;
    return { ...reply, headers: { ...reply.headers, 'www-authenticate': 'Basic realm="Parley", charset="UTF-8"' } };
  },
};

const row = endpointRow(information, { method: 'GET', match: 'exact', recorded: false, dialect });

/** A form and its answer, for browsers that run no scripts. */
const endpoints: readonly ModelEndpoint<NoscriptContext>[] = [
  row('/noscript', 'A form to try the model, for browsers without scripts.', () => formPage(defaults)),
  row('/noscript', 'The answer to that form, as a page that grows while it is written.', answer, {
    ...write('text'),
    method: 'POST',
    queued: true,
  }),
];

export const noscriptEndpoints = (server: Pick<NoscriptContext, 'startTimer'>) => withServices(endpoints, server);

const title = 'Parley without scripts';

function formPage(form: NoscriptForm): Reply {
  const page = html`${pageStart(title)}
${heading}
<main>
${formMarkup(form)}
</main>
${pageEnd}`;
  return { status: 200, headers: formPageHeaders, body: page.markup };
}

const heading = html`<header>
<h1>Parley</h1>
<p><a href="noscript">New chat</a> · <a href="api">API</a></p>
</header>`;

async function answer(call: Call, context: NoscriptContext): Promise<Reply> {
  const form = readForm(new URLSearchParams(call.body.toString('utf8')));
  refuseWithoutModel(context.text.state());
  const { maxLength: max_length, temperature, topP: top_p } = form;
  const sent = context.applyDefaults({ max_length, temperature, top_p });
  const controls = decodeControls(readControls(sent), context.controlLimits());
  const marks = form.kind === 'question' ? ['{{[INPUT]}}', '{{[OUTPUT]}}'] : [];
  const texts = context.replacePlaceholders({ prompt: promptOf(form), memory: '', stop: marks });
  const stop = texts.stop.filter((text) => text !== '');
  const requestContext = requestContextOf(call, '');
  return streamReply(
    context.text.generate({ ...controls, ...texts, stop }, requestContext),
    (events) => growingPage(form, events),
    {
      headers: { ...formPageHeaders, 'x-accel-buffering': 'no' },
      filler: '<!-- -->',
      // A comment, because white space would become part of the text.
      notice: () => '<!-- waiting -->',
      requestContext,
      startTimer: context.startTimer,
    },
  );
}

/** The page up to the answer, the answer as it is generated, and then the form for the next request. */
async function* growingPage(form: NoscriptForm, events: AsyncIterable<GenerationEvent>): AsyncGenerator<string> {
  yield html`${pageStart(title)}
${heading}
<main>
${conversation(form)}
<section aria-labelledby="answer-title">
<h2 id="answer-title">${form.kind === 'story' ? 'Continuation' : 'Answer'}</h2>
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
        ending = html`<p class="quiet">The reply reached the maximum length.</p>`;
      }
    }
  } catch (error) {
    ending = failure(asAppError(error).message);
  }
  yield html`</pre>
${ending}
</section>
${formMarkup(afterReply(form, reply))}
</main>
${pageEnd}`.markup;
}

function failure(reason: string): Markup {
  return html`<p role="alert">The reply stopped early: ${reason}</p>`;
}

function conversation({ kind, turns, text }: NoscriptForm): Markup {
  const before = kind === 'story' ? [text] : [...turns, text];
  return html`<section aria-labelledby="turns-title">
<h2 id="turns-title">${kind === 'story' ? 'Your text' : 'Conversation'}</h2>
${before.map((turn, index) => html`<pre>${kind === 'story' ? '' : index % 2 === 0 ? 'You: ' : 'Answer: '}${turn}</pre>`)}
</section>`;
}

/** The values of the form. */
export interface NoscriptForm {
  readonly kind: 'question' | 'story';
  /** The story so far, or the question. */
  readonly text: string;
  /** Earlier questions and answers, alternating. */
  readonly turns: readonly string[];
  readonly maxLength: number;
  readonly temperature: number;
  readonly topP: number;
}

const defaults: NoscriptForm = { kind: 'question', text: '', turns: [], maxLength: 200, temperature: 0.7, topP: 0.9 };
const limits = { maxLength: 4096, temperature: 5, turns: 200 };

/** Values that are missing or no numbers get their defaults, so that no form is refused. */
export function readForm(fields: URLSearchParams): NoscriptForm {
  const turns = fields.getAll('turn').slice(-limits.turns);
  return {
    kind: fields.get('kind') === 'story' ? 'story' : 'question',
    text: lines(fields.get('text') ?? ''),
    // A question without its answer is dropped.
    turns: turns.slice(turns.length % 2).map(lines),
    maxLength: Math.trunc(number(fields.get('max_length'), defaults.maxLength, 1, limits.maxLength)),
    temperature: number(fields.get('temperature'), defaults.temperature, 0, limits.temperature),
    topP: number(fields.get('top_p'), defaults.topP, 0, 1),
  };
}

/** The prompt with placeholders at the start of each turn, which are replaced by the tags of the model. */
export function promptOf({ kind, text, turns }: NoscriptForm): string {
  if (kind === 'story') return text;
  const earlier = turns.map((turn, index) => `${index % 2 === 0 ? '{{[INPUT]}}' : '{{[OUTPUT]}}'}${turn}`);
  return `${earlier.join('')}{{[INPUT]}}${text}{{[OUTPUT]}}`;
}

/** The form after a reply: a story continues, a conversation waits for the next question. */
export function afterReply(form: NoscriptForm, reply: string): NoscriptForm {
  if (form.kind === 'story') return { ...form, text: form.text + reply };
  return { ...form, text: '', turns: [...form.turns, form.text, reply.trim()] };
}

function formMarkup(form: NoscriptForm): Markup {
  const story = form.kind === 'story';
  const next = form.turns.length > 0 && !story;
  return html`<section aria-labelledby="ask-title">
<h2 id="ask-title">${next ? 'Next message' : 'Your message'}</h2>
<form method="post" action="noscript" accept-charset="utf-8">
${form.turns.map((turn) => html`<input type="hidden" name="turn" value="${turn}">`)}
<label for="text">Text</label>
<textarea id="text" name="text" rows="${story ? 14 : 5}" required>
${form.text}</textarea>
<fieldset>
<legend>Mode</legend>
${choice('question', 'Chat: answer my message', !story)}
${choice('story', 'Story: continue my text', story)}
</fieldset>
<div class="settings">
${numberField('max_length', 'Maximum length in tokens', form.maxLength, [1, limits.maxLength, 1])}
${numberField('temperature', 'Temperature', form.temperature, [0, limits.temperature, 0.05])}
${numberField('top_p', 'Top P', form.topP, [0, 1, 0.01])}
</div>
<p class="buttons"><button type="submit">Send</button></p>
</form>
${next ? html`<p><a href="noscript">New chat</a></p>` : ''}
</section>`;
}

function choice(value: NoscriptForm['kind'], label: string, checked: boolean): Markup {
  const mark = checked ? ' checked' : '';
  return html`<label class="choice"><input type="radio" name="kind" value="${value}"${mark}> ${label}</label>`;
}

type Range = readonly [min: number, max: number, step: number];

function numberField(name: string, label: string, value: number, [min, max, step]: Range): Markup {
  return html`<label>${label} <input type="number" name="${name}" min="${min}" max="${max}" step="${step}" value="${value}" required></label>`;
}

function number(text: string | null, fallback: number, least: number, most: number): number {
  const value = text === null || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? clamp(value, least, most) : fallback;
}

/** Browsers send CRLF in forms. */
function lines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
