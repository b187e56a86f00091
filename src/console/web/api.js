// What is asked of the process that serves this page, and how often.

export class ApiError extends Error {
  constructor(message, status, leader) {
    super(message);
    this.status = status;  // 0: nobody answered
    this.leader = leader;
  }
}

const kPatienceMs = 10_000;

async function ask(name, parameters, options) {
  const given = Object.entries(parameters).filter(([, v]) => v !== '' && v !== undefined);
  const url = `/api/v1/${name}?${new URLSearchParams(given)}`;
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), options.patienceMs ?? kPatienceMs);
  const giveUp = () => patience.abort();
  options.signal?.addEventListener('abort', giveUp);
  try {
    const response = await fetch(url, {...options, signal: patience.signal});
    if (response.ok) return await response.json();  // that it was cut off is an error, not an answer
    const refusal = await response.json().catch(() => ({}));
    throw new ApiError(refusal.error ?? `HTTP ${response.status}`, response.status, refusal.leader);
  } catch (error) {
    if (error instanceof ApiError || options.signal?.aborted) throw error;
    throw new ApiError('it does not answer', 0);
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener('abort', giveUp);
  }
}

export const get = (name, parameters = {}, signal = undefined) => ask(name, parameters, {signal});
export const post = (name, parameters, body, signal) => ask(name, parameters, {
  signal, method: 'POST', body: JSON.stringify(body), patienceMs: 120_000, headers: {'X-Console': '1'},
});

// Calls `work` again and again: pauses while the page is hidden, waits longer after each failure, and
// goes on at once when the page is seen again.
export class Loop {
  static kEveryMs = 2_000;
  static kMostMs = 30_000;

  constructor(work) {
    this.work = work;
    this.failures = 0;
    document.addEventListener('visibilitychange', () => this.now());
  }
  now() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (document.hidden || this.running) return;
    this.run();
  }
  async run() {
    this.running = true;
    const worked = await this.work();
    this.running = false;
    this.failures = worked ? 0 : this.failures + 1;
    if (document.hidden) return;
    const pause = Math.min(Loop.kMostMs, Loop.kEveryMs * 2 ** Math.min(this.failures, 5));
    this.timer = setTimeout(() => this.now(), this.again ? 0 : pause);
    this.again = false;
  }
  // As now(); while it works, right after that.
  soon() {
    if (this.running) this.again = true;
    else this.now();
  }
}
