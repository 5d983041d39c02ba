// SPDX-License-Identifier: GPL-3.0-or-later
//
// The page of `condprofctl report --output html` comes alive: sorting, filtering and details of the main tables, a
// timeline to zoom into, a choice of colours. Asks nobody for anything. Rows stay the text that condprofctl wrote
// (escaped there) and become elements only for the part of a table that is looked at; what comes from rows and is not
// such text goes to the page as text, never as markup. Rows' raw figures are in data-v, in the order of data-c.
'use strict';
(() => {
const WINDOW_ROWS = 200; // more than these are scrolled through in a window of their own
const SPARE_ROWS = 12; // above and below what is to be seen
const MAX_SCROLL_PX = 12e6; // browsers' limits for an element's height begin here
const LANES = 14;
const root = document.documentElement;
root.classList.add('js');

function make(tag, attributes, ...children) {
	const svg = /^(svg|g|path|rect|line|text|title)$/.test(tag);
	const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {}))
		if (name === 'text')
			element.textContent = value;
		else if (name.startsWith('on'))
			element.addEventListener(name.slice(2), value);
		else
			element.setAttribute(name, value);
	element.append(...children);
	return element;
}

/** Elements of markup that condprofctl wrote. */
function parse(markup) {
	const template = document.createElement('template');
	template.innerHTML = markup;
	return template.content;
}

const ENTITIES = {'&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&nbsp;': '\u00a0'};
function plain(markup) {
	const text = markup.includes('<') ? markup.replace(/<[^>]*>/g, ' ') : markup;
	return (text.includes('&') ? text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, entity => ENTITIES[entity]) : text).trim();
}

function later(ms, what) {
	let timer = 0;
	return () => {
		clearTimeout(timer);
		timer = setTimeout(what, ms);
	};
}

/** As in the text output: three digits and the unit that fits. */
function duration(ns) {
	const sign = ns < 0 ? '-' : '', size = Math.round(Math.abs(ns));
	if (size < 1000)
		return `${sign}${size} ns`;
	for (const [name, unit, limit] of [['µs', 1e3, 1000], ['ms', 1e6, 1000], ['s', 1e9, 60]]) {
		if (size >= unit * limit)
			continue;
		for (let decimals = 2; decimals >= 0; decimals--) {
			const power = 10 ** decimals, scaled = Math.round(size * power / unit);
			if (decimals > 0 && scaled >= 1000)
				continue;
			if (scaled >= limit * power)
				break;
			return `${sign}${(scaled / power).toFixed(decimals)} ${name}`;
		}
	}
	const whole = Math.round(size / 1e9), two = n => String(n).padStart(2, '0');
	const s = whole < 86400 ? whole : Math.floor(size / 1e9) + 30; // days have no seconds: the minute is rounded to
	const days = Math.floor(s / 86400), hours = Math.floor(s / 3600) % 24, minutes = Math.floor(s / 60) % 60;
	if (days > 0)
		return `${sign}${days} d ${two(hours)} h ${two(minutes)} m`;
	return hours > 0 ? `${sign}${hours} h ${two(minutes)} m ${two(s % 60)} s` : `${sign}${minutes} m ${two(s % 60)} s`;
}

// --- colours ---------------------------------------------------------------------------------------------------------

const repaint = []; // whoever has drawn with the page's colours
const resized = []; // whoever has drawn for the window's width
const dark = matchMedia('(prefers-color-scheme: dark)');

function setUpTheme() {
	const button = document.getElementById('theme'), names = ['auto', 'light', 'dark'];
	let theme = 'auto';
	try {
		theme = localStorage.getItem('condprof-theme') || 'auto';
	} catch (error) {
		// no storage for this page: it begins with auto each time
	}
	function show() {
		if (!names.includes(theme))
			theme = 'auto';
		if (theme === 'auto')
			root.removeAttribute('data-theme');
		else
			root.dataset.theme = theme;
		button.textContent = {auto: 'Colours: auto', light: 'Colours: light', dark: 'Colours: dark'}[theme];
		for (const paint of repaint)
			paint();
	}
	button.addEventListener('click', () => {
		theme = names[(names.indexOf(theme) + 1) % names.length];
		try {
			localStorage.setItem('condprof-theme', theme);
		} catch (error) {
			// as above
		}
		show();
	});
	dark.addEventListener('change', show);
	button.hidden = false;
	show();
}

// --- tables ----------------------------------------------------------------------------------------------------------

/** What can be done with a main table; `first`: the column it comes sorted by, `descending`: the largest first. */
const TABLES = {
	conditions: {first: 'total_ns', descending: true, search: 'Find a condition or event',
		choose: {kind: 'All kinds', event: 'All events'}},
	events: {first: 'conditions_ns', descending: true, search: 'Find an event', choose: {kind: 'All kinds'}},
	occurrences: {first: 'at_ns', descending: false, search: 'Find in occurrences', choose: {event: 'All events'}},
};

class Grid {
	/** table: with its head; rows: the body's markup; drawn: whether it has many rows and came in a <noscript> */
	constructor(table, rows, many) {
		this.table = table;
		this.body = table.tBodies[0];
		this.box = table.parentElement;
		this.name = table.dataset.name;
		this.rows = rows;
		this.many = many;
		this.columns = [...table.tHead.rows[0].cells].map((head, cell) => ({
			head, cell, name: head.dataset.name, title: head.textContent, place: +head.dataset.c,
			number: head.classList.contains('n'), classes: head.className,
		}));
		this.index();
		this.order = Uint32Array.from({length: this.count}, (_, i) => i);
		this.filters = {text: '', range: null};
		const {first, descending} = TABLES[this.name];
		this.sort = {column: this.columns.find(column => column.name === first), descending};
		this.open = -1; // the row whose details are shown
		this.current = -1; // the row that the keyboard comes to
		this.extra = 0; // their height
		this.rowHeight = 0;
		this.onfilter = () => {};
		this.makeTools();
		this.makeHeads();
		this.listen();
		this.markSort();
		this.fill();
		resized.push(() => {
			this.rowHeight = 0;
			this.fill();
		});
	}

	index() {
		const starts = [], raw = [], mark = /<tr data-v="([^"]*)">/g;
		for (let found = mark.exec(this.rows); found; found = mark.exec(this.rows)) {
			starts.push(found.index);
			raw.push(found[1]);
		}
		this.count = starts.length;
		starts.push(this.rows.length);
		this.starts = starts;
		this.values = {};
		const places = this.columns.filter(column => column.number && column.name);
		for (const column of places)
			this.values[column.name] = new Float64Array(this.count);
		raw.forEach((text, i) => {
			const figures = text.split(',');
			for (const column of places)
				this.values[column.name][i] = figures[column.place] === '' ? NaN : +figures[column.place];
		});
	}

	markup(i) {
		return this.rows.slice(this.starts[i], this.starts[i + 1]);
	}

	/** The markup of a row's cells. */
	cells(i) {
		return this.markup(i).split(/<tr class="more">/)[0].split(/<td(?: [^>]*)?>/).slice(1)
			.map(cell => cell.replace(/<\/t[dr]>\s*/g, ''));
	}

	/** A name that a cell has: nothing but text. */
	text(i, cell) {
		let begin = this.starts[i];
		for (let k = 0; k <= cell; k++)
			begin = this.rows.indexOf('<td', begin) + 3;
		begin = this.rows.indexOf('>', begin) + 1;
		return plain(this.rows.slice(begin, this.rows.indexOf('<', begin)));
	}

	/** The names in a column, a row each. */
	texts(name) {
		this.cache = this.cache || {};
		if (!this.cache[name]) {
			const {cell} = this.columns.find(column => column.name === name);
			this.cache[name] = Array.from({length: this.count}, (_, i) => this.text(i, cell));
		}
		return this.cache[name];
	}

	/** What a search looks through: names; of occurrences all that is said. */
	searched(i) {
		if (this.name === 'occurrences')
			return plain(this.markup(i)).toLowerCase();
		return this.columns.filter(column => !column.number && column.name)
			.map(column => this.texts(column.name)[i]).join('\n').toLowerCase();
	}

	// what is above the table

	makeTools() {
		const settings = TABLES[this.name];
		const tools = make('div', {class: 'tools'});
		const search = make('input', {type: 'search', placeholder: settings.search, 'aria-label': settings.search});
		const find = later(120, () => {
			const text = search.value.trim().toLowerCase();
			if (text === this.filters.text)
				return;
			this.filters.text = text;
			this.filter();
		});
		search.addEventListener('input', find);
		search.addEventListener('change', find);
		tools.append(search);
		for (const [name, all] of Object.entries(settings.choose))
			this.makeChoice(tools, name, all);
		this.counter = make('span', {class: 'count', role: 'status'});
		tools.append(this.counter);
		this.box.before(tools);
		this.tools = tools;
	}

	makeChoice(tools, name, all) {
		const words = [...new Set(this.texts(name))];
		if (words.length < 2 || words.length > 1000)
			return;
		words.sort((a, b) => a.localeCompare(b));
		const select = make('select', {'aria-label': all, 'data-name': name}, new Option(all, '-1'));
		words.forEach((word, i) => select.append(new Option(word || '(no name)', String(i))));
		select.addEventListener('change', () => {
			this.filters[name] = words[+select.value];
			this.filter();
		});
		tools.append(select);
	}

	makeHeads() {
		for (const column of this.columns) {
			if (!column.name) {
				column.head.replaceChildren(make('span', {text: column.title}));
				continue;
			}
			const button = make('button', {type: 'button', text: column.title});
			button.addEventListener('click', () => this.sortBy(column));
			column.head.replaceChildren(button);
		}
	}

	// which rows, and in what order

	filter() {
		const {text, range} = this.filters, chosen = Object.keys(TABLES[this.name].choose)
			.filter(name => this.filters[name] !== undefined).map(name => [this.texts(name), this.filters[name]]);
		const at = this.values.at_ns, rows = [];
		const fits = i => (!range || (at[i] >= range[0] && at[i] <= range[1])) &&
			chosen.every(([texts, word]) => texts[i] === word) && (!text || this.searched(i).includes(text));
		for (let i = 0; i < this.count; i++)
			if (fits(i))
				rows.push(i);
		this.order = Uint32Array.from(rows);
		this.arrange();
		this.onfilter();
	}

	sortBy(column) {
		const again = this.sort.column === column;
		this.sort = {column, descending: again ? !this.sort.descending : column.number};
		this.markSort();
		this.order.sort((a, b) => a - b);
		this.arrange();
	}

	markSort() {
		for (const {head} of this.columns)
			head.removeAttribute('aria-sort');
		const {column, descending} = this.sort;
		if (column)
			column.head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
	}

	arrange() {
		const {column, descending} = this.sort, sign = descending ? -1 : 1;
		if (column && column.number) {
			const values = this.values[column.name];
			this.order.sort((a, b) => {
				const unknown = Number.isNaN(values[a]) - Number.isNaN(values[b]); // last, in either order
				return unknown || (values[a] < values[b] ? -sign : values[a] > values[b] ? sign : a - b);
			});
		} else if (column) {
			const texts = this.texts(column.name), {compare} = new Intl.Collator(undefined, {numeric: true});
			this.order.sort((a, b) => sign * compare(texts[a], texts[b]) || a - b);
		}
		this.open = -1;
		this.box.scrollTop = 0;
		this.fill();
	}

	// what is to be seen

	listen() {
		this.body.addEventListener('click', event => {
			const row = event.target.closest('tr[data-i]');
			if (!row || String(getSelection()))
				return;
			this.toggle(+row.dataset.i);
			this.focus(+row.dataset.i);
		});
		this.body.addEventListener('keydown', event => {
			const row = event.target.closest('tr[data-i]');
			if (!row || event.target !== row)
				return;
			if (event.key === 'Enter' || event.key === ' ') {
				event.preventDefault();
				this.toggle(+row.dataset.i);
				this.focus(+row.dataset.i);
			} else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
				const place = this.order.indexOf(+row.dataset.i) + (event.key === 'ArrowDown' ? 1 : -1);
				if (place < 0 || place >= this.order.length)
					return;
				event.preventDefault();
				this.reveal(place);
				this.focus(this.order[place]);
			}
		});
		let asked = false;
		this.box.addEventListener('scroll', () => {
			if (asked || !this.windowed)
				return;
			asked = true;
			requestAnimationFrame(() => {
				asked = false;
				this.fill();
			});
		});
	}

	focus(i) {
		this.current = i;
		for (const other of this.body.querySelectorAll('tr[tabindex="0"]'))
			other.tabIndex = -1;
		const row = this.body.querySelector(`tr[data-i="${i}"]`);
		if (!row)
			return;
		row.tabIndex = 0;
		row.focus({preventScroll: true});
	}

	toggle(i) {
		this.open = this.open === i ? -1 : i;
		this.fill();
	}

	/** Brings the row at this place of the order into view. */
	reveal(place) {
		if (this.windowed) {
			const top = place * this.rowHeight, height = this.box.clientHeight - 40; // less the head
			const seen = this.box.scrollTop * this.stretch;
			if (top < seen || top > seen + height - this.rowHeight)
				this.box.scrollTop = Math.max(top - height / 3, 0) / this.stretch;
			this.fill();
		} else {
			const row = this.body.querySelector(`tr[data-i="${this.order[place]}"]`);
			if (row)
				row.scrollIntoView({block: 'nearest'});
		}
	}

	show(i) {
		const place = this.order.indexOf(i);
		if (place < 0)
			return;
		this.open = i;
		this.fill();
		this.reveal(place);
	}

	makeRow(i) {
		const row = parse(this.markup(i)).firstElementChild;
		row.removeAttribute('data-v');
		for (const {classes, cell} of this.columns)
			if (classes)
				row.cells[cell].classList.add(...classes.split(' '));
		row.dataset.i = i;
		row.tabIndex = i === this.current ? 0 : -1; // one of them by tab, the others by arrows
		row.setAttribute('aria-expanded', String(i === this.open));
		row.classList.toggle('open', i === this.open);
		return row;
	}

	get windowed() {
		return this.order.length > WINDOW_ROWS;
	}

	fill() {
		const n = this.order.length;
		this.counter.textContent = n === this.count ? `${n}` : `${n} of ${this.count}`;
		this.box.classList.toggle('window', this.windowed);
		const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.i : undefined;
		if (this.windowed)
			this.fillWindow();
		else
			this.body.replaceChildren(...this.pieces(0, n), ...(n === 0 ? [this.message()] : []));
		if (focused !== undefined)
			this.focus(focused);
	}

	message() {
		return make('tr', {class: 'none'}, make('td', {colspan: this.columns.length, text: 'Nothing fits.'}));
	}

	pieces(first, last) {
		const pieces = [], there = this.order.subarray(first, last);
		if (!there.includes(this.current) && there.length > 0)
			this.current = there[0];
		for (let place = first; place < last; place++) {
			const i = this.order[place];
			pieces.push(this.makeRow(i));
			if (i === this.open)
				pieces.push(this.details(i));
		}
		return pieces;
	}

	/** The rows in view and some more, between two empty ones that take the room of all others. */
	fillWindow() {
		const n = this.order.length, openPlace = this.open < 0 ? n : this.order.indexOf(this.open);
		if (!this.rowHeight)
			this.measure();
		if (this.open < 0)
			this.extra = 0;
		const height = this.rowHeight, total = n * height + this.extra;
		this.stretch = Math.max(total / MAX_SCROLL_PX, 1);
		const y = this.box.scrollTop * this.stretch;
		const past = y > (openPlace + 1) * height ? Math.min(this.extra, y - (openPlace + 1) * height) : 0;
		const first = Math.max(Math.floor((y - past) / height) - SPARE_ROWS, 0);
		const last = Math.min(first + Math.ceil(this.box.clientHeight / height) + 2 * SPARE_ROWS, n);
		const top = this.box.scrollTop - (y - first * height - (openPlace < first ? this.extra : 0));
		const inside = (last - first) * height + (openPlace >= first && openPlace < last ? this.extra : 0);
		const space = px => {
			const cell = make('td', {colspan: this.columns.length});
			cell.style.height = `${Math.max(px, 0)}px`;
			return make('tr', {class: 'space', 'aria-hidden': 'true'}, cell);
		};
		this.body.replaceChildren(space(top), ...this.pieces(first, last), space(total / this.stretch - top - inside));
		const details = this.body.querySelector('tr.more');
		if (details && Math.abs(details.offsetHeight - this.extra) > 1) {
			this.extra = details.offsetHeight;
			this.fillWindow();
		}
	}

	measure() {
		this.body.replaceChildren(this.makeRow(this.order[0]), this.makeRow(this.order[1]));
		this.rowHeight = Math.max(this.body.rows[1].getBoundingClientRect().height, 10);
		this.stretch = 1;
		if (this.many)
			this.fixColumns();
	}

	/** Columns that would change their width with every row that comes into view are held where they are. */
	fixColumns() {
		const sample = [];
		for (const {head} of this.columns)
			head.style.minWidth = '';
		for (let k = 0; k < 60; k++)
			sample.push(this.makeRow(this.order[Math.floor(k * (this.order.length - 1) / 59)]));
		this.body.replaceChildren(...sample);
		for (const {head} of this.columns)
			head.style.minWidth = head.offsetWidth ? `${head.offsetWidth}px` : '';
	}

	/** Below a row: what took part in an occurrence; of others the columns that the table has no room for. */
	details(i) {
		const more = parse(this.markup(i)).querySelector('tr.more');
		const cells = this.cells(i), list = make('dl', {}), cell = make('td', {colspan: this.columns.length});
		for (const column of this.columns) {
			const step = /\bs[1-4]\b/.exec(column.classes), aside = /\bx\b/.test(column.classes);
			if ((!aside && !step) || cells[column.cell].includes('<svg class="chart"'))
				continue;
			list.append(make('div', {class: aside ? '' : step[0]},
				make('dt', {text: column.title}), make('dd', {text: plain(cells[column.cell])})));
		}
		cell.append(list);
		if (more)
			cell.append(...more.cells[0].childNodes);
		const chart = cells.find(text => text.includes('data-h="'));
		if (chart)
			cell.append(this.figure(i, /data-h="([^"]*)"/.exec(chart)[1]));
		return make('tr', {class: 'more'}, cell);
	}

	figure(i, text) {
		const marks = [['p50', this.values.p50_ns], ['average', this.values.average_ns], ['p99', this.values.p99_ns]]
			.filter(([, values]) => values && !Number.isNaN(values[i])).map(([name, values]) => [name, values[i]]);
		return make('figure', {}, make('figcaption', {text: 'How long the checks took, and how many took so long'}),
			histogram(text, marks, this.box.clientWidth - 40));
	}
}

// --- histograms ------------------------------------------------------------------------------------------------------

/**
 * A histogram with its axis, at most `room` px wide. `text` is first;zero;overflow;counts, bucket i being
 * (2^(i/8), 2^((i+1)/8)] ns; `marks` are [name, ns].
 */
function histogram(text, marks, room) {
	const [first, zero, overflow, list] = text.split(';');
	const counts = list ? list.split(',').map(Number) : [], margin = 16;
	const from = Math.floor((+first - 4) / 8) * 8, to = Math.ceil((+first + counts.length + 4) / 8) * 8;
	const width = Math.min(Math.max(room, 200), 720), step = (width - 2 * margin) / (to - from);
	const top = marks.length > 0 ? 20 : 4, height = top + 130, base = height - 22;
	const highest = Math.max(...counts, +zero, +overflow, 1);
	const svg = make('svg', {class: 'large', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img'});
	const x = ns => margin + (8 * Math.log2(Math.max(ns, 1)) - from) * step;
	const column = (left, count, title) => {
		const size = count > 0 ? Math.max((base - top) * count / highest, 1.5) : 0;
		if (count > 0)
			svg.append(make('rect', {x: left, y: base - size, width: Math.max(step - .6, .8), height: size},
				make('title', {text: `${title}: ${count}`})));
	};
	const bound = bucket => duration(2 ** (bucket / 8));
	column(0, +zero, '0 ns');
	counts.forEach((count, i) => column(margin + (+first + i - from) * step, count,
		`over ${bound(+first + i)}, up to ${bound(+first + i + 1)}`));
	column(width - margin + 4, +overflow, 'longer than a minute');
	svg.append(make('line', {x1: 0, y1: base + .5, x2: width, y2: base + .5}));
	axis(svg, from, to, x, base, width);
	let end = -1;
	for (const [name, ns] of marks.sort((a, b) => a[1] - b[1])) {
		const label = `${name} ${duration(ns)}`, length = 6.6 * label.length, at = x(ns);
		const begin = Math.min(Math.max(at - length / 2, end + 8, 0), width - length);
		svg.append(make('g', {class: 'mark'}, make('line', {x1: at, y1: 16, x2: at, y2: base}),
			make('text', {x: begin, y: 11, text: label})));
		end = begin + length;
	}
	return svg;
}

/** Labels at 1, or at 1, 2 and 5, of each decade that lies on the axis, as many as fit. */
function axis(svg, from, to, x, base, width) {
	const decades = (to - from) / 8 * Math.log10(2), steps = decades < 1.5 ? [1, 2, 5] : [1];
	for (let power = 0; power <= 11; power++)
		for (const digit of steps) {
			const ns = digit * 10 ** power, at = x(ns);
			if (at < 18 || at > width - 18)
				continue;
			svg.append(make('line', {x1: at, y1: base, x2: at, y2: base + 5}),
				make('text', {x: at, y: base + 18, 'text-anchor': 'middle', text: tickLabel(ns)}));
		}
}

/** A round time: without decimals that say nothing. */
function tickLabel(ns) {
	return duration(ns).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ').replace(/ 00 s$/, '').replace(/ 00 m$/, '');
}

// --- the timeline ----------------------------------------------------------------------------------------------------

/** Steps between the axis's labels, in seconds from a minute on. */
const LONG_STEPS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 2592000].map(s => s * 1e9);

class Timeline {
	constructor(grid, whole_ns) {
		this.grid = grid;
		const at = grid.values.at_ns;
		let end = whole_ns, begin = 0;
		for (const ns of at) {
			end = Math.max(end, ns);
			begin = Math.min(begin, ns);
		}
		this.narrowest = Math.max(1000, (end - begin) * 1e-9, Math.abs(end) * 1e-12); // what can be told apart
		this.whole = [begin, Math.max(end, begin + this.narrowest)];
		this.range = this.whole;
		this.makeLanes();
		this.makeElements();
		grid.onfilter = () => this.draw();
		repaint.push(() => this.draw());
		new ResizeObserver(() => this.draw()).observe(this.box);
	}

	/** A lane an event, those with most occurrences first; the rest share the last. */
	makeLanes() {
		const names = this.grid.texts('event'), counts = new Map();
		for (const name of names)
			counts.set(name, (counts.get(name) || 0) + 1);
		const sorted = [...counts].sort((a, b) => b[1] - a[1]);
		const own = sorted.length > LANES ? sorted.slice(0, LANES - 1) : sorted;
		this.lanes = own.map(([name, count]) => ({label: name, count}));
		if (own.length < sorted.length)
			this.lanes.push({label: `${sorted.length - own.length} other events`, count: 0});
		const lane = new Map(own.map(([name], i) => [name, i]));
		this.laneOf = Uint8Array.from(names, name => lane.has(name) ? lane.get(name) : own.length);
	}

	makeElements() {
		const button = (text, label, what) =>
			make('button', {type: 'button', 'aria-label': label, title: label, text, onclick: what});
		this.rangeText = make('span', {class: 'range', role: 'status'});
		const legend = make('span', {class: 'legend'}, make('span', {}, make('i', {class: 'conditions_ns'}), 'checking'),
			make('span', {}, make('i', {class: 'actions'}), 'acting'));
		const zoom = make('div', {class: 'zoom'},
			button('+', 'Zoom in', () => this.zoom(.5)), button('−', 'Zoom out', () => this.zoom(2)),
			button('←', 'Earlier', () => this.move(-.5)), button('→', 'Later', () => this.move(.5)),
			button('All', 'The whole session', () => this.setRange(this.whole)), this.rangeText, legend);
		this.canvas = make('canvas', {tabindex: 0, role: 'img',
			'aria-label': 'When events occurred, a lane each. Drag to zoom in; the table below has the same.'});
		this.hint = make('div', {class: 'hint'});
		this.hint.hidden = true;
		this.box = make('div', {class: 'lanes'}, this.canvas, this.hint);
		this.grid.tools.before(zoom, this.box);
		this.listen();
	}

	listen() {
		const {canvas} = this;
		let from = null;
		const x = event => event.clientX - canvas.getBoundingClientRect().left;
		canvas.addEventListener('pointerdown', event => {
			if (event.button !== 0)
				return;
			from = x(event);
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener('pointermove', event => {
			if (from !== null)
				this.draw([from, x(event)]);
			else
				this.showHint(event);
		});
		canvas.addEventListener('pointercancel', () => {
			from = null;
			this.draw();
		});
		canvas.addEventListener('pointerup', event => {
			if (from === null)
				return;
			const a = Math.min(from, x(event)), b = Math.max(from, x(event));
			from = null;
			if (b - a > 5) {
				this.setRange([this.time(a), this.time(b)]);
				return;
			}
			this.draw();
			const i = this.nearest(event);
			if (i >= 0)
				this.grid.show(i);
		});
		canvas.addEventListener('pointerleave', () => {
			this.hint.hidden = true;
		});
		canvas.addEventListener('dblclick', () => this.setRange(this.whole));
		canvas.addEventListener('wheel', event => {
			if (event.ctrlKey || event.metaKey) {
				event.preventDefault();
				this.zoom(event.deltaY < 0 ? .8 : 1.25, x(event) / canvas.clientWidth);
			} else if (event.deltaX) {
				event.preventDefault();
				this.move(event.deltaX / canvas.clientWidth);
			}
		}, {passive: false});
		canvas.addEventListener('keydown', event => {
			const keys = {'+': () => this.zoom(.5), '=': () => this.zoom(.5), '-': () => this.zoom(2),
				'0': () => this.setRange(this.whole), ArrowLeft: () => this.move(-.25), ArrowRight: () => this.move(.25)};
			if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey)
				return;
			event.preventDefault();
			keys[event.key]();
		});
	}

	// range

	time(px) {
		return this.range[0] + (this.range[1] - this.range[0]) * px / this.canvas.clientWidth;
	}

	x(ns) {
		return (ns - this.range[0]) / (this.range[1] - this.range[0]) * this.canvas.clientWidth;
	}

	zoom(factor, place = .5) {
		const [a, b] = this.range, width = Math.max((b - a) * factor, this.narrowest), middle = a + (b - a) * place;
		this.setRange([middle - width * place, middle + width * (1 - place)]);
	}

	move(part) {
		const width = this.range[1] - this.range[0], [a, b] = this.whole;
		const begin = Math.min(Math.max(this.range[0] + part * width, a), b - width);
		this.setRange([begin, begin + width]);
	}

	setRange([a, b]) {
		const [first, last] = this.whole, missing = Math.max(this.narrowest - (b - a), 0);
		this.range = [Math.max(a - missing / 2, first), Math.min(b + missing / 2, last)];
		const all = this.range[0] <= first && this.range[1] >= last;
		if (all || this.range[0] >= this.range[1])
			this.range = this.whole;
		this.grid.filters.range = this.range === this.whole ? null : this.range;
		this.filterLater = this.filterLater || later(60, () => this.grid.filter());
		this.filterLater();
		this.draw();
	}

	// drawing

	/** selected: [from, to] in px, while somebody drags. */
	draw(selected) {
		const width = this.canvas.clientWidth, ratio = devicePixelRatio || 1;
		if (!width)
			return;
		const laneHeight = 36, height = this.lanes.length * laneHeight + 26;
		this.canvas.style.height = `${height}px`;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		const context = this.canvas.getContext('2d'), style = getComputedStyle(root);
		const color = name => style.getPropertyValue(`--${name}`).trim();
		context.scale(ratio, ratio);
		this.drawAxis(context, width, height, color);
		this.drawOccurrences(context, width, laneHeight, color);
		context.font = `13px ${getComputedStyle(document.body).fontFamily}`;
		this.lanes.forEach(({label}, i) => {
			context.fillStyle = color('text');
			context.textAlign = 'left';
			context.fillText(fitted(context, label, width - 16), 8, i * laneHeight + 14);
			context.fillStyle = color('line');
			context.fillRect(0, (i + 1) * laneHeight - .5, width, 1);
		});
		if (selected) {
			context.fillStyle = color('accent');
			context.globalAlpha = .2;
			context.fillRect(Math.min(...selected), 0, Math.abs(selected[1] - selected[0]), height);
			context.globalAlpha = 1;
		}
		const [a, b] = this.range;
		this.rangeText.textContent = this.range === this.whole ? `the whole session, ${duration(b - a)}`
			: `${duration(a)} to ${duration(b)}, ${duration(b - a)}`;
	}

	drawAxis(context, width, height, color) {
		const [a, b] = this.range, wanted = (b - a) / Math.max(width / 110, 2);
		let step = 10 ** Math.floor(Math.log10(wanted));
		step = [1, 2, 5, 10].map(digit => digit * step).find(candidate => candidate >= wanted);
		if (step > 30e9)
			step = LONG_STEPS.find(candidate => candidate >= wanted) || Math.ceil(wanted / 2592e12) * 2592e12;
		context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
		context.textAlign = 'center';
		const first = Math.ceil(a / step);
		for (let count = Math.min(Math.floor(b / step) - first, 60), k = first; k <= first + count; k++) {
			const x = this.x(k * step), text = k === 0 ? '0' : tickLabel(k * step);
			context.fillStyle = color('line');
			context.fillRect(Math.round(x) - .5, 0, 1, height - 20);
			context.fillStyle = color('muted');
			const room = context.measureText(text).width / 2 + 3;
			context.fillText(text, Math.min(Math.max(x, room), width - room), height - 7);
		}
	}

	/** Each from its verification to its last action; at least a mark. What falls on the same pixel is drawn once. */
	drawOccurrences(context, width, laneHeight, color) {
		const {at_ns: at, checking_ns: checking, acting_ns: acting} = this.grid.values;
		const drawn = this.lanes.map(() => -1), checks = color('conditions'), acts = color('actions');
		for (const i of this.grid.sort.column.name === 'at_ns' ? this.grid.order : this.grid.order.slice().sort()) {
			const end = this.x(at[i]), act = this.x(at[i] - (acting[i] || 0));
			const begin = this.x(at[i] - (acting[i] || 0) - (checking[i] || 0));
			if (end < -2 || begin > width + 2)
				continue;
			const lane = this.laneOf[i], top = lane * laneHeight + 19;
			if (end - begin < 2) {
				if (Math.round(end) === drawn[lane])
					continue;
				drawn[lane] = Math.round(end);
				context.fillStyle = checks;
				context.fillRect(end - 1, top, 2, 13);
				continue;
			}
			context.fillStyle = checks;
			context.fillRect(begin, top, Math.max(act - begin, 1.5), 13);
			context.fillStyle = acts;
			context.fillRect(act, top, end - act, 13);
		}
	}

	nearest(event) {
		const bounds = this.canvas.getBoundingClientRect();
		const x = event.clientX - bounds.left, lane = Math.floor((event.clientY - bounds.top) / 36);
		const {at_ns: at, checking_ns: checking, acting_ns: acting} = this.grid.values;
		let best = -1, distance = 8;
		for (const i of this.grid.order) {
			if (this.laneOf[i] !== lane)
				continue;
			const end = this.x(at[i]), begin = this.x(at[i] - (acting[i] || 0) - (checking[i] || 0));
			const away = x < begin ? begin - x : x > end ? x - end : 0;
			if (away < distance) {
				best = i;
				distance = away;
			}
		}
		return best;
	}

	showHint(event) {
		const i = this.nearest(event), {at_ns: at, acting_ns: acting} = this.grid.values;
		this.hint.hidden = i < 0;
		if (i < 0)
			return;
		const acted = Number.isNaN(acting[i]) ? '' : `, acted ${duration(acting[i])}`;
		this.hint.textContent = `${this.grid.texts('event')[i]} at ${duration(at[i])}${acted}`;
		const bounds = this.box.getBoundingClientRect(), x = event.clientX - bounds.left;
		this.hint.style.left = `${Math.max(Math.min(x + 10, bounds.width - this.hint.offsetWidth - 4), 4)}px`;
		this.hint.style.top = `${event.clientY - bounds.top + 16}px`;
	}
}

function fitted(context, text, width) {
	if (context.measureText(text).width <= width)
		return text;
	let length = text.length;
	while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width)
		length = Math.floor(length * .9);
	return `${text.slice(0, length)}…`;
}

// --- begin -----------------------------------------------------------------------------------------------------------

/** Takes a large table out of its <noscript>: the head as elements, the rows as text. */
function takeOut(noscript) {
	const text = noscript.textContent, begin = text.indexOf('<tbody>') + 7, end = text.lastIndexOf('</tbody>');
	const box = parse(`${text.slice(0, begin)}</tbody></table></div>`).firstElementChild;
	noscript.replaceWith(box);
	return [box.firstElementChild, text.slice(begin, end)];
}

/** Drawings among the session's facts have room to be large. */
function enlargeCharts() {
	for (const chart of document.querySelectorAll('dd svg.chart')) {
		const box = chart.closest('div'), place = chart.parentElement, text = chart.dataset.h;
		const draw = () => place.replaceChildren(histogram(text, [], box.clientWidth));
		box.classList.add('wide');
		draw();
		resized.push(draw);
	}
}

function setUpTables() {
	const tables = [...document.querySelectorAll('table.main')].map(table => [table, table.tBodies[0].innerHTML, false]);
	for (const noscript of document.querySelectorAll('noscript'))
		tables.push([...takeOut(noscript), true]);
	for (const [table, rows, many] of tables)
		try {
			const grid = new Grid(table, rows, many), whole = document.querySelector('table.bars');
			if (grid.name === 'occurrences' && grid.count > 0)
				new Timeline(grid, whole ? +whole.dataset.whole : 0);
		} catch (error) { // then it is the table that it is without scripts
			table.tBodies[0].innerHTML = rows;
			console.error(error);
		}
}

setUpTheme();
enlargeCharts();
setUpTables();
let width = innerWidth; // a phone's height changes while one scrolls
addEventListener('resize', later(100, () => {
	if (innerWidth === width)
		return;
	width = innerWidth;
	for (const draw of resized)
		draw();
}));
})();
