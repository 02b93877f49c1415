"use strict";(()=>{var id=Object.create;var li=Object.defineProperty;var od=Object.getOwnPropertyDescriptor;var sd=Object.getOwnPropertyNames;var ld=Object.getPrototypeOf,dd=Object.prototype.hasOwnProperty;var di=(a,n)=>()=>{try{return n||a((n={exports:{}}).exports,n),n.exports}catch(e){throw n=0,e}};var ud=(a,n,e,t)=>{if(n&&typeof n=="object"||typeof n=="function")for(let r of sd(n))!dd.call(a,r)&&r!==e&&li(a,r,{get:()=>n[r],enumerable:!(t=od(n,r))||t.enumerable});return a};var ct=(a,n,e)=>(e=a!=null?id(ld(a)):{},ud(n||!a||!a.__esModule?li(e,"default",{value:a,enumerable:!0}):e,a));var Rt=di((Rp,ir)=>{"use strict";var At=typeof Reflect=="object"?Reflect:null,no=At&&typeof At.apply=="function"?At.apply:function(n,e,t){return Function.prototype.apply.call(n,e,t)},Un;At&&typeof At.ownKeys=="function"?Un=At.ownKeys:Object.getOwnPropertySymbols?Un=function(n){return Object.getOwnPropertyNames(n).concat(Object.getOwnPropertySymbols(n))}:Un=function(n){return Object.getOwnPropertyNames(n)};function Md(a){console&&console.warn&&console.warn(a)}var ro=Number.isNaN||function(n){return n!==n};function se(){se.init.call(this)}ir.exports=se;ir.exports.once=Od;se.EventEmitter=se;se.prototype._events=void 0;se.prototype._eventsCount=0;se.prototype._maxListeners=void 0;var ao=10;function Hn(a){if(typeof a!="function")throw new TypeError('The "listener" argument must be of type Function. Received type '+typeof a)}Object.defineProperty(se,"defaultMaxListeners",{enumerable:!0,get:function(){return ao},set:function(a){if(typeof a!="number"||a<0||ro(a))throw new RangeError('The value of "defaultMaxListeners" is out of range. It must be a non-negative number. Received '+a+".");ao=a}});se.init=function(){(this._events===void 0||this._events===Object.getPrototypeOf(this)._events)&&(this._events=Object.create(null),this._eventsCount=0),this._maxListeners=this._maxListeners||void 0};se.prototype.setMaxListeners=function(n){if(typeof n!="number"||n<0||ro(n))throw new RangeError('The value of "n" is out of range. It must be a non-negative number. Received '+n+".");return this._maxListeners=n,this};function io(a){return a._maxListeners===void 0?se.defaultMaxListeners:a._maxListeners}se.prototype.getMaxListeners=function(){return io(this)};se.prototype.emit=function(n){for(var e=[],t=1;t<arguments.length;t++)e.push(arguments[t]);var r=n==="error",i=this._events;if(i!==void 0)r=r&&i.error===void 0;else if(!r)return!1;if(r){var o;if(e.length>0&&(o=e[0]),o instanceof Error)throw o;var s=new Error("Unhandled error."+(o?" ("+o.message+")":""));throw s.context=o,s}var l=i[n];if(l===void 0)return!1;if(typeof l=="function")no(l,this,e);else for(var d=l.length,u=co(l,d),t=0;t<d;++t)no(u[t],this,e);return!0};function oo(a,n,e,t){var r,i,o;if(Hn(e),i=a._events,i===void 0?(i=a._events=Object.create(null),a._eventsCount=0):(i.newListener!==void 0&&(a.emit("newListener",n,e.listener?e.listener:e),i=a._events),o=i[n]),o===void 0)o=i[n]=e,++a._eventsCount;else if(typeof o=="function"?o=i[n]=t?[e,o]:[o,e]:t?o.unshift(e):o.push(e),r=io(a),r>0&&o.length>r&&!o.warned){o.warned=!0;var s=new Error("Possible EventEmitter memory leak detected. "+o.length+" "+String(n)+" listeners added. Use emitter.setMaxListeners() to increase limit");s.name="MaxListenersExceededWarning",s.emitter=a,s.type=n,s.count=o.length,Md(s)}return a}se.prototype.addListener=function(n,e){return oo(this,n,e,!1)};se.prototype.on=se.prototype.addListener;se.prototype.prependListener=function(n,e){return oo(this,n,e,!0)};function Nd(){if(!this.fired)return this.target.removeListener(this.type,this.wrapFn),this.fired=!0,arguments.length===0?this.listener.call(this.target):this.listener.apply(this.target,arguments)}function so(a,n,e){var t={fired:!1,wrapFn:void 0,target:a,type:n,listener:e},r=Nd.bind(t);return r.listener=e,t.wrapFn=r,r}se.prototype.once=function(n,e){return Hn(e),this.on(n,so(this,n,e)),this};se.prototype.prependOnceListener=function(n,e){return Hn(e),this.prependListener(n,so(this,n,e)),this};se.prototype.removeListener=function(n,e){var t,r,i,o,s;if(Hn(e),r=this._events,r===void 0)return this;if(t=r[n],t===void 0)return this;if(t===e||t.listener===e)--this._eventsCount===0?this._events=Object.create(null):(delete r[n],r.removeListener&&this.emit("removeListener",n,t.listener||e));else if(typeof t!="function"){for(i=-1,o=t.length-1;o>=0;o--)if(t[o]===e||t[o].listener===e){s=t[o].listener,i=o;break}if(i<0)return this;i===0?t.shift():Gd(t,i),t.length===1&&(r[n]=t[0]),r.removeListener!==void 0&&this.emit("removeListener",n,s||e)}return this};se.prototype.off=se.prototype.removeListener;se.prototype.removeAllListeners=function(n){var e,t,r;if(t=this._events,t===void 0)return this;if(t.removeListener===void 0)return arguments.length===0?(this._events=Object.create(null),this._eventsCount=0):t[n]!==void 0&&(--this._eventsCount===0?this._events=Object.create(null):delete t[n]),this;if(arguments.length===0){var i=Object.keys(t),o;for(r=0;r<i.length;++r)o=i[r],o!=="removeListener"&&this.removeAllListeners(o);return this.removeAllListeners("removeListener"),this._events=Object.create(null),this._eventsCount=0,this}if(e=t[n],typeof e=="function")this.removeListener(n,e);else if(e!==void 0)for(r=e.length-1;r>=0;r--)this.removeListener(n,e[r]);return this};function lo(a,n,e){var t=a._events;if(t===void 0)return[];var r=t[n];return r===void 0?[]:typeof r=="function"?e?[r.listener||r]:[r]:e?zd(r):co(r,r.length)}se.prototype.listeners=function(n){return lo(this,n,!0)};se.prototype.rawListeners=function(n){return lo(this,n,!1)};se.listenerCount=function(a,n){return typeof a.listenerCount=="function"?a.listenerCount(n):uo.call(a,n)};se.prototype.listenerCount=uo;function uo(a){var n=this._events;if(n!==void 0){var e=n[a];if(typeof e=="function")return 1;if(e!==void 0)return e.length}return 0}se.prototype.eventNames=function(){return this._eventsCount>0?Un(this._events):[]};function co(a,n){for(var e=new Array(n),t=0;t<n;++t)e[t]=a[t];return e}function Gd(a,n){for(;n+1<a.length;n++)a[n]=a[n+1];a.pop()}function zd(a){for(var n=new Array(a.length),e=0;e<n.length;++e)n[e]=a[e].listener||a[e];return n}function Od(a,n){return new Promise(function(e,t){function r(o){a.removeListener(n,i),t(o)}function i(){typeof a.removeListener=="function"&&a.removeListener("error",r),e([].slice.call(arguments))}ho(a,n,i,{once:!0}),n!=="error"&&Wd(a,r,{once:!0})})}function Wd(a,n,e){typeof a.on=="function"&&ho(a,"error",n,e)}function ho(a,n,e,t){if(typeof a.on=="function")t.once?a.once(n,e):a.on(n,e);else if(typeof a.addEventListener=="function")a.addEventListener(n,function r(i){t.once&&a.removeEventListener(n,r),e(i)});else throw new TypeError('The "emitter" argument must be of type EventEmitter. Received type '+typeof a)}});var Dr=di((Bp,ts)=>{ts.exports=function(n){return n!==null&&typeof n=="object"&&typeof n.addUndirectedEdgeWithKey=="function"&&typeof n.dropNode=="function"&&typeof n.multi=="boolean"}});var re,hi,cd,Qe,za,Fn,fi,kn,gi,Wa,Oa,hd,Kt=Symbol.for("pv"),In={},Mn=[],fd=/^m(i|n|o|s|text|space)$/,Ba=Array.isArray,pi=Mn.slice,ft=Object.assign;function ht(a){a&&a.parentNode&&a.remove()}function Ln(a,n,e,t,r){var i={type:a,props:n,key:e,ref:t,__k:null,__:null,__b:0,__e:null,__c:null,constructor:Kt,__v:r||++hi,__i:-1,__u:0};return!r&&re.vnode&&re.vnode(i),i}function $(a){return a.children}function Cn(a,n){this.props=a,this.context=n,this.__g=0}function Je(a,n){if(n==null)return a.__&&Je(a.__,a.__i+1);for(var e;n<a.__k.length;n++)if((e=a.__k[n])&&e.__e)return e.__e;return typeof a.type!="function"||a.props.__P?null:Je(a)}function gd(a){var n,e=a.__v,t=e.__e,r=[],i=[],o=a.__P;o&&((n=ft({constructor:Kt},e)).__v=e.__v+1,re.vnode&&re.vnode(n),Ua(o,n,e,a.__n,o.namespaceURI,32&e.__u?[t]:null,r,t||Je(e),32&e.__u,i),n.__v=e.__v,n.__.__k[n.__i]=n,xi(r,n,i),e.__=e.__e=null,n.__e!=t&&vi(n))}function vi(a){if((a=a.__)&&a.__c&&!a.props.__P)return a.__e=null,a.__k.some(function(n){return n&&(a.__e=n.__e)}),vi(a)}function ui(a){(8&a.__g||(a.__g|=8,Qe.push(a),Fn++))&&za==re.debounceRendering||((za=re.debounceRendering)||queueMicrotask)(mi)}function mi(){try{for(var a,n=1;Qe.length;)Qe.length>n&&Qe.sort(fi),a=Qe.shift(),n=Qe.length,8&a.__g&&gd(a)}finally{(Fn=Qe.length)&&(za||queueMicrotask)(mi)}}function bi(a,n,e,t,r,i,o,s,l,d,u){var f,g,h,p,y,m,v=t.__k||Mn,b=n.length;for(l=pd(e,n,v,l,b),f=0;f<b;f++)(h=e.__k[f])!=null&&(g=~h.__i&&v[h.__i]||In,h.__i=f,m=Ua(a,h,g,r,i,o,s,l,d,u),p=h.__e,(g.ref!=h.ref||8&g.__u)&&(g.ref&&Ha(g.ref,null,h,g),h.ref&&u.push(h.ref,h.__c||p,h)),y=y||p,4&h.__u?(l=yi(h,l,a,!g.__v),g.__e&&(g.__e=null)):typeof h.type=="function"&&m!==void 0?l=m:p&&(l=p.nextSibling),h.__u&=-21);return e.__e=y,l}function pd(a,n,e,t,r){var i,o,s,l,d,u,f,g,h,p=e.length,y=p,m=0,v=0,b=a.__k=Array(r);for(i=0;i<r;i++)(o=n[i])!=null&&typeof o!="boolean"&&typeof o!="function"?(typeof o!="object"||o.constructor===String?o=b[i]=Ln(null,o):Ba(o)?o=b[i]=Ln($,{children:o}):o.constructor===Kt&&o.__b?o=b[i]=Ln(o.type,o.props,o.key,o.ref,o.__v):b[i]=o,l=i+m,o.__=a,o.__b=a.__b+1,s=null,~(d=o.__i=vd(o,e,l,y))&&(y--,(s=e[d])&&(s.__u|=2)),s&&s.__v?(o.__u|=16,d==l-1?m--:d==l+1?m++:d!=l&&(d>l?m--:m++,v=1)):(~d||(r>p?m--:r<p&&m++),typeof o.type!="function"&&(o.__u|=4))):b[i]=null;if(v){for(u=[],f=[],i=0;i<r;i++)if((o=b[i])&&16&o.__u){for(m=0,g=u.length;m<g;)u[h=m+g>>1]<o.__i?m=h+1:g=h;u[m]=o.__i,f[i]=m+1}for(m=u.length;i--;)f[i]&&(f[i]==m?m--:b[i].__u|=4)}if(y)for(i=0;i<p;i++)!(s=e[i])||2&s.__u||(s.__e==t&&(t=Je(s)),$a(s,s));return t}function yi(a,n,e,t){var r,i,o,s;if(typeof a.type=="function"){if(a.props.__P)return n;if(r=a.__k)for(i=0;i<r.length;i++)r[i]&&(r[i].__=a,n=yi(r[i],n,e,!1));return n}for(n&&!n.parentNode&&(n=Je(a))&&!n.parentNode&&(n=null),o=a.__e,s=n;s&&s.nodeType==8;)s=s.nextSibling;for(o!=s&&(!t&&e.moveBefore&&o.parentNode?e.moveBefore(o,n):e.insertBefore(o,n||null)),n=o;(n=n&&n.nextSibling)&&n.nodeType==8&&!n.data.startsWith("$s"););return n}function vd(a,n,e,t){var r,i=a.key,o=a.type,s=n[e],l=s&&!(2&s.__u);if(s===null&&i==null||l&&i==s.key&&o==s.type)return e;if(t>(l?1:0)){for(r=e-1;r>=0;r--)if((s=n[r])&&!(2&s.__u)&&i==s.key&&o==s.type)return r;for(r=e+1;r<n.length;r++)if((s=n[r])&&!(2&s.__u)&&i==s.key&&o==s.type)return r}return-1}function ci(a,n,e){e==null&&(e=""),n[0]=="-"?a.setProperty(n,e):a[n]=e}function Dn(a,n,e,t,r){var i,o;if(n=="style")if(typeof e=="string")a.style.cssText=e;else{if(typeof t=="string"&&(a.style.cssText=t=""),t)for(n in t)e&&n in e||ci(a.style,n);if(e)for(n in e)t&&e[n]==t[n]||ci(a.style,n,e[n])}else if(n[0]=="o"&&n[1]=="n")typeof e!="function"&&(e=null),typeof t!="function"&&(t=null),(a.__e||(a.__e={}))[n]=e,e&&t||(o=Oa[n]||(Oa[n]=md(n)),(a.__a||(a.__a={}))[n]=Wa,i=n!=(n=n.replace(gi,"$1")),(n=n.slice(2))[0]<"a"&&(n=n.toLowerCase()),e?a.addEventListener(n,o,i):a.removeEventListener(n,o,i));else{if(r=="http://www.w3.org/2000/svg")n=n.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(n!="width"&&n!="height"&&n!="href"&&n!="list"&&n!="form"&&n!="tabIndex"&&n!="download"&&n!="rowSpan"&&n!="colSpan"&&n!="role"&&n!="popover"&&n in a)try{return void(a[n]=e??"")}catch{}if(typeof e=="function")return;e==null||e===!1&&n[4]!="-"?a.removeAttribute(n):a.setAttribute(n,n=="popover"&&e==1?"":e)}}function md(a){return function(n){var e=this.__e;if(e){if(e=e[a],n[kn]==null)n[kn]=Wa++;else if(n[kn]<this.__a[a])return;return e(re.event?re.event(n):n)}}}function Ua(a,n,e,t,r,i,o,s,l,d){var u,f,g,h,p,y,m,v,b,_,x,T,S,A,E,k,D,C,R=n.type;if(n.constructor!==Kt)return null;128&e.__u&&(l=32&e.__u,u=e.__c.__z)&&(n.__u|=l,f=i=[],u.nodeType==8?s=Pn(u,i):i.push(u),s=i[0]||s),(u=re.__b)&&u(n);e:if(typeof R=="function"){g=o.length;try{if(v=n.props,b=(u=R.prototype)&&u.render,_=(u=R.contextType)&&t[u.__c],x=u?_?_.props.value:u.__:t,(h=e.__c)?(n.__c=h,2&h.__g&&(h.__g|=1)):(b?n.__c=h=new R(v,x):(n.__c=h=new Cn(v,x),h.constructor=R,h.render=yd),_&&_.sub(h),h.state||(h.state={}),h.__n=t,h.__g|=8,h.__h=[],h.__k=[]),b&&(h.__s||(h.__s=h.state),R.getDerivedStateFromProps&&(h.__s==h.state&&(h.__s=ft({},h.__s)),ft(h.__s,R.getDerivedStateFromProps(v,h.__s)))),p=h.props,y=h.state,h.__v=n,e.__c){if(v!==p&&b&&!R.getDerivedStateFromProps&&h.componentWillReceiveProps&&h.componentWillReceiveProps(v,x),n.__v==e.__v&&!(8&h.__g)||!(4&h.__g)&&h.shouldComponentUpdate&&h.shouldComponentUpdate(v,h.__s,x)===!1){n.__v!=e.__v&&(h.props=v,h.state=h.__s,h.__g&=-9),n.__e=e.__e,n.__k=e.__k,n.__k.some(function(F){F&&(F.__=n)}),Mn.push.apply(h.__h,h.__k),h.__k=[],h.__h.length&&o.push(h),s=Je(e);break e}h.componentWillUpdate&&h.componentWillUpdate(v,h.__s,x),b&&h.componentDidUpdate&&h.__h.push(function(){h.componentDidUpdate(p,y,m)})}else b&&!R.getDerivedStateFromProps&&h.componentWillMount&&h.componentWillMount(),b&&h.componentDidMount&&h.__h.push(h.componentDidMount);h.context=x,h.props=v,h.__P=a,h.__g&=-5,T=re.__r,S=b?25:0;do h.__g&=-9,T&&T(n),u=h.render(h.props,h.state=h.__s,h.context);while(8&h.__g&&++S<25);b&&(Mn.push.apply(h.__h,h.__k),h.__k=[]),h.state=h.__s,h.getChildContext&&(t=ft({},t,h.getChildContext())),b&&e.__c&&h.getSnapshotBeforeUpdate&&(m=h.getSnapshotBeforeUpdate(p,y)),A=u&&u.type===$&&u.key==null?u.props.children:u,v.__P&&(u=s,r=(a=v.__P).namespaceURI,l=i=null,e.props&&e.props.__P!=a&&(e.__k.some(function(F){F&&$a(F,F)}),e.__k=null),s=e.__k?Je(e,0):null),s=bi(a,Ba(A)?A:[A],n,e,t,r,i,o,s,l,d),v.__P&&(n.__e=null,s=u),n.__u&=-161,f&&f.some(ht),h.__h.length&&o.push(h),1&h.__g&&(h.__g&=-4)}catch(F){if(o.length=g,n.__v=null,l||i)if(F&&F.then){if(n.__u|=128|l,i){for(~(D=i.indexOf(s||void 0))||(D=i.length);(C=i[D-1])&&C.nodeType==8;)D--;for(;D<i.length;D++)if(C=i[D])if(i[D]=null,E){if(C==k)break}else{if(C.nodeType!=8)break;C.data.startsWith("$s")&&(k=Pn(E=C))}}if(!E){for(;s&&s.nodeType==8&&s.nextSibling;)s=s.nextSibling;E=s}(u=Pn(E=n.__c.__z||(n.__c.__z=E)))?(n.__e=E,s=u):n.__e=s,s=s&&s.nextSibling}else i&&i.some(ht);else n.__e=e.__e;n.__k||(n.__k=e.__k||[]),F&&F.then||_i(n),re.__e(F,n,e)}}else s=n.__e=bd(e.__e,n,e,t,r,i,o,l,d,a);return(u=re.diffed)&&u(n),s}function Pn(a,n){if(a&&a.nodeType==8&&a.data.startsWith("$s"))for(var e=1;a=a.nextSibling;){if(a.nodeType==8){if(a.data.startsWith("$s"))e++;else if(a.data.startsWith("/$s")&&!--e)return a}n&&n.push(a)}}function _i(a){a&&(a.__c&&(a.__c.__g|=4),a.__k&&a.__k.some(_i))}function xi(a,n,e){for(var t=0;t<e.length;)Ha(e[t++],e[t++],e[t++]);re.__c&&re.__c(n,a),a.some(function(r){try{a=r.__h,r.__h=[],a.some(function(i){i.call(r)})}catch(i){re.__e(i,r.__v)}})}function bd(a,n,e,t,r,i,o,s,l,d){var u,f,g,h,p,y,m,v,b=e.props||In,_=n.props,x=n.type;if(x=="svg"?r="http://www.w3.org/2000/svg":x=="math"?r="http://www.w3.org/1998/Math/MathML":r||(r="http://www.w3.org/1999/xhtml"),i){for(u=0;u<i.length;u++)if((p=i[u])&&(x?p.localName==x:p.nodeType==3)){a=p,i[u]=null;break}}if(!a){if(v=d.ownerDocument||document,!x)return v.createTextNode(_);a=v.createElementNS(r,x,_.is?_:d),s&&(re.__m&&re.__m(n,i),s=!1),i=null}if(x){if(d=x=="template"&&a.content||a,i=x=="textarea"&&_.defaultValue!=null?null:i&&pi.call(d.childNodes),!s&&i)for(b={},u=0;u<a.attributes.length;u++)b[(p=a.attributes[u]).name]=p.value;for(u in b)p=b[u],u=="dangerouslySetInnerHTML"?g=p:u=="children"||u in _||u=="value"&&"defaultValue"in _||u=="checked"&&"defaultChecked"in _||Dn(a,u,null,p,r);for(u in _)p=_[u],u=="children"?h=p:u=="dangerouslySetInnerHTML"?f=p:u=="value"?y=p:u=="checked"?m=p:s&&typeof p!="function"||b[u]===p||Dn(a,u,p,b[u],r);f?(s||g&&(f.__html==g.__html||f.__html==a.innerHTML)||(a.innerHTML=f.__html),n.__k=[]):(g&&(a.textContent=""),(x=="foreignObject"||r=="http://www.w3.org/1998/Math/MathML"&&fd.test(x))&&(r="http://www.w3.org/1999/xhtml"),bi(d,Ba(h)?h:[h],n,e,t,r,i,o,i?i[0]:e.__k&&Je(e,0),s,l),i&&i.some(ht)),s&&x!="textarea"||(u="value",x=="progress"&&y==null?a.removeAttribute(u):y==null||y===a[u]&&(x!="progress"||y)||Dn(a,u,y,b[u],r),u="checked",m!=null&&m!=a[u]&&Dn(a,u,m,b[u],r))}else b===_||s&&a.data==_||(a.data=_);return a}function Ha(a,n,e,t){try{typeof a=="function"?n?n.__x=a(n)||1:t&&(t=t.__c||t.__e)&&(n=t.__x)&&(t.__x=null,typeof n=="function"?n():a(null)):a.current=n}catch(r){re.__e(r,e)}}function $a(a,n,e){var t,r,i,o;if(re.unmount&&re.unmount(a),!(t=a.ref)||t.current&&t.current!=a.__e||Ha(t,null,n,a),t=a.__c){if(t.componentWillUnmount)try{t.componentWillUnmount()}catch(s){re.__e(s,n)}t.__P=t.__n=null}if(t=a.__k)for(o=0;o<t.length;o++)t[o]&&$a(t[o],n,typeof a.type!="function"||e&&!a.props.__P);!e&&(t=a.__c)&&(t=t.__z)&&(r=Pn(t,i=[]))&&(t==a.__e&&i.some(ht),ht(r),ht(t)),e||ht(a.__e),a.__e=a.__c=a.__=null}function yd(a,n,e){return this.constructor(a,e)}function Ti(a,n){var e,t,r,i;re.__&&re.__(a,n),n.nodeType==9&&(n=n.documentElement),t=(e=a&&32&a.__u)?null:n.__k,n.__k=Ln($,{children:[a]}),r=[],i=[],Ua(n,n.__k,t||In,In,n.namespaceURI,t?null:n.firstChild?pi.call(n.childNodes):null,r,t?t.__e:n.firstChild,e,i),xi(r,n.__k,i),n.__k.props.children=null}re={__e:function(a,n,e,t){for(var r,i,o;n=n.__;)if((r=n.__c)&&!(1&r.__g)){r.__g|=4;try{if((o=(i=r.constructor)&&i.getDerivedStateFromError)&&r.setState(i.getDerivedStateFromError(a)),r.componentDidCatch&&(r.componentDidCatch(a,t||{}),o=1),o&&8&r.__g)return void(r.__g|=2)}catch(s){a=s}}throw Fn=0,a}},hi=0,cd=function(a){return a!=null&&a.constructor===Kt},Cn.prototype.setState=function(a,n){var e=this.__s;e&&e!=this.state||(e=this.__s=ft({},this.state)),typeof a=="function"&&(a=a(ft({},e),this.props)),a&&(ft(e,a),this.__v&&(n&&this.__k.push(n),ui(this)))},Cn.prototype.forceUpdate=function(a){this.__v&&(this.__g|=4,a&&this.__h.push(a),ui(this))},Cn.prototype.render=$,Qe=[],Fn=0,fi=function(a,n){return a.__v.__b-n.__v.__b},kn=Symbol(),gi=/(PointerCapture)$|Capture$/i,Wa=0,Oa={},hd=0;var Zt,ve,Va,Si,ja=Object.is,Nn=0,Pi=[],Xa=[],pe=re,Ei=pe.__b,wi=pe.__r,Ai=pe.diffed,Ri=pe.__c,Di=pe.unmount,ki=pe.__;function Ka(a,n){pe.__h&&pe.__h(ve,a,Nn||n),Nn=0;var e=ve.__H||(ve.__H={__:[],__h:[]});return a>=e.__.length&&e.__.push({}),e.__[a]}function Z(a){return Nn=1,Ya(Ii,a)}function Ya(a,n,e){var t=Ka(Zt++,2);if(t.t=a,!t.__c&&(t.__=[e?e(n):Ii(void 0,n),function(i){var o=(t.__N||t.__)[0],s=t.t(o,i);ja(o,s)||(t.__N=[s,t.__[1]],t.__c.setState({}))}],t.__c=ve,!ve.__f)){ve.__f=!0;var r=ve.shouldComponentUpdate;ve.shouldComponentUpdate=function(i,o,s){var l=this.__H;if(!l)return!0;var d=!1,u=this.props!=i;if(l.__.some(function(g){g.__N&&(d=!0,ja(g.__[0],g.__N[0])||(u=!0))}),r){var f=r.call(this,i,o,s);return d?f||u:f}return!d||u}}return t.__}function oe(a,n){var e=Ka(Zt++,3);!pe.__s&&Fi(e.__H,n)&&(e.__P=!0,e.__=a,e.u=n,ve.__H.__h.push(e))}function gt(a){return Nn=5,Xe(function(){return{current:a}},[])}function Xe(a,n){var e=Ka(Zt++,7);return Fi(e.__H,n)&&(e.__=a(),e.__H=n),e.__}function _d(){var a;do{for(;a=Xa.shift();)try{Yt(a)}catch(e){pe.__e(e,{__:(a=a.__P)&&a.__v})}for(;a=Pi.shift();){var n=a.__H;if(a.__P&&n)try{n.__h.some(Yt),n.__h.some(qa),n.__h=[]}catch(e){n.__h=[],pe.__e(e,a.__v)}}}while(Xa.length)}pe.__b=function(a){ve=null,Ei&&Ei(a)},pe.__=function(a,n){a&&n.__k&&n.__k.__m&&(a.__m=n.__k.__m),ki&&ki(a,n)},pe.__r=function(a){wi&&wi(a),Zt=0;var n=(ve=a.__c).__H;n&&(Va==ve?ve.__h=[]:(n.__h.some(Yt),n.__h.some(qa),Zt=0),n.__h=[],n.__.some(function(e){e.__N&&(e.__=e.__N),e.u=e.__N=void 0})),Va=ve},pe.diffed=function(a){Ai&&Ai(a);var n=a.__c;n&&n.__H&&(n.__H.__h.length&&Ci(Pi.push(n)),n.__H.__.some(function(e){e.u&&(e.__H=e.u)})),Va=ve=null},pe.__c=function(a,n){n.some(function(e){try{e.__h.some(Yt),e.__h=e.__h.filter(function(t){return!t.__||qa(t)})}catch(t){e.__h=[function(){throw t}]}}),Ri&&Ri(a,n)},pe.unmount=function(a){Di&&Di(a);var n,e,t=a.__c;t&&t.__H&&(t.__H.__.some(function(r){try{if(r.__P&&r.__c){if(e===void 0){for(e=a.__;e&&(!e.__c||!e.__c.__P);)e=e.__;e=e&&e.__c}r.__P=e,Ci(Xa.push(r))}else Yt(r)}catch(i){n=i}}),t.__H=void 0,n&&pe.__e(n,t.__v))};var Li=typeof requestAnimationFrame=="function";function xd(a){var n,e=function(){clearTimeout(t),Li&&cancelAnimationFrame(n),setTimeout(a)},t=setTimeout(e,35);Li&&(n=requestAnimationFrame(e))}function Ci(a){a!=1&&Si==pe.requestAnimationFrame||((Si=pe.requestAnimationFrame)||xd)(_d)}function Yt(a){var n=ve,e=a.__c;typeof e=="function"&&(a.__c=void 0,e()),ve=n}function qa(a){var n=ve;a.__c=a.__(),ve=n}function Fi(a,n){return!a||a.length!=n.length||n.some(function(e,t){return!ja(e,a[t])})}function Ii(a,n){return typeof n=="function"?n(a):n}var Gn="ferrosm-token";var fe=class extends Error{constructor(e,t,r,i){super(r);this.status=e;this.kind=t;this.remedy=i}status;kind;remedy},Ni=()=>{};function Gi(a){Ni=a}function Za(){let a=localStorage.getItem(Gn);return a?{"x-ferrosm-token":a}:{}}async function Qt(a,n,e){let t;try{t=await fetch(n,{method:a,headers:e===void 0?Za():{...Za(),"content-type":"application/json"},body:e===void 0?void 0:JSON.stringify(e),cache:"no-store"})}catch{throw new fe(0,"unreachable","the service does not answer","Check that ferrosm runs, and the tunnel if there is one.")}if(t.status===204)return;let r;try{r=await t.json()}catch{throw new fe(t.status,"internal",`status ${t.status} without an answer`,"")}if(!t.ok){let{kind:i,message:o,remedy:s}=r?.error??{kind:"internal",message:`status ${t.status}`,remedy:""},l=new fe(t.status,i,o,s);throw t.status===401&&n!=="/session"&&Ni(l),l}return r}function zi(a,n){let e=new URLSearchParams;for(let[r,i]of Object.entries(n))i!==void 0&&i!==""&&e.set(r,String(i));let t=e.toString();return`/v1/${a}${t?`?${t}`:""}`}async function we(a,n={}){for(let e=1;;e+=1)try{return await Qt("GET",zi(a,n))}catch(t){if(!(t instanceof fe&&t.kind==="busy"&&e<5))throw t;await new Promise(i=>setTimeout(i,500*e))}}var Mi=1e4;async function Qa(a,n={}){let e=await we(a,{...n,limit:Mi}),t=e,r=[...e.items];for(;e.next;)e=await we(a,{...n,limit:Mi,cursor:e.next}),r.push(...e.items);return{...t,items:r}}async function wt(a,n={},e){return await Qt("POST",zi(a,n),e)}async function Oi(){let a=/^#login=(.+)$/.exec(location.hash)?.[1];if(a){history.replaceState(null,"","/#/overview");let n=await Qt("POST","/session",{link:a});return localStorage.setItem(Gn,n.token),n}if(localStorage.getItem(Gn))return await Qt("GET","/session")}async function Wi(){await Qt("DELETE","/session"),localStorage.removeItem(Gn)}function Bi(a,n,e){let t=new AbortController,r=a,i=async()=>{let s=await fetch(`/v1/events?since=${r}`,{headers:{...Za(),accept:"text/event-stream"},signal:t.signal});if(!s.ok||!s.body)throw new Error(`status ${s.status}`);e(!0);let l=s.body.pipeThrough(new TextDecoderStream).getReader(),d="";for(;;){let{done:u,value:f}=await l.read();if(u)return;let g=(d+f).split(`

`);d=g.pop()??"";for(let h of g){let p=v=>h.split(`
`).find(b=>b.startsWith(`${v}:`))?.slice(v.length+1).trim(),y=Number(p("id"));y&&(r=y);let m=p("data");m&&p("event")===void 0&&n(JSON.parse(m))}}};return(async()=>{for(;!t.signal.aborted;){try{await i()}catch{}e(!1),await new Promise(s=>setTimeout(s,2e3))}})(),()=>t.abort()}function Ui(a,n){let e=[...a.switches];for(let t of n){let r=Td(a,t);if(!r)continue;let i=l=>l.level===r.level&&l.group===r.group,o=e.findIndex(l=>i(l)&&l.guid>r.guid),s=e.findLastIndex(i);e.splice(o>=0?o:s>=0?s+1:e.length,0,r)}return{...a,switches:e}}function Td(a,{guid:n,neighbours:e,hasHosts:t}){if(e.length!==0)switch(a.kind){case"tree":{let r=e.map(d=>d.level??0),i=Math.min(...r),o=Math.max(...r),s=i<o?Math.round((i+o)/2):t||i===a.levels-1?i-1:i+1,l=s>=a.levels-1?void 0:Ja(e.flatMap(d=>d.group??[]));return s<0?void 0:{guid:n,level:s,group:l}}case"grid":{let r=a.dimensions.map((o,s)=>Ja(e.map(l=>l.coordinates?.[s]??0)));return!a.switches.some(o=>o.coordinates?.every((s,l)=>s===r[l]))?{guid:n,coordinates:r}:void 0}case"dragonfly":return{guid:n,group:Ja(e.flatMap(r=>r.group??[])),level:a.levels>0?+!t:void 0};case"unknown":return}}function Ja(a){let n=new Map;for(let e of a)n.set(e,(n.get(e)??0)+1);return[...n].sort((e,t)=>t[1]-e[1]||e[0]-t[0])[0]?.[0]}var zn=class{constructor(n,e,t){this.links=e;for(let r of n)this.nodes.set(r.guid,r);e.forEach((r,i)=>{for(let{guid:o,name:s}of[r.a,r.b]){this.nodes.has(o)||this.nodes.set(o,{guid:o,name:s,location:s,kind:"ca",lids:[],ports:0,ports_linked:0,state:"absent"});let l=this.linksOf.get(o);l?l.push(i):this.linksOf.set(o,[i])}});for(let r of this.nodes.values()){if(this.byName.has(r.name)||this.byName.set(r.name,r.guid),r.kind==="switch")continue;let i=this.neighbours(r.guid).find(s=>this.nodes.get(s)?.kind==="switch");if(i===void 0)continue;this.homeOf.set(r.guid,i);let o=this.hostsOf.get(i);o?o.push(r.guid):this.hostsOf.set(i,[r.guid])}this.structure=t&&this.completed(t);for(let r of this.structure?.switches??[])this.places.set(r.guid,r)}links;nodes=new Map;byName=new Map;structure;places=new Map;linksOf=new Map;homeOf=new Map;hostsOf=new Map;completed(n){let e=new Map(n.switches.map(r=>[r.guid,r])),t=[...this.nodes.values()].filter(r=>r.kind==="switch"&&!e.has(r.guid));return Ui(n,t.map(({guid:r})=>({guid:r,neighbours:this.neighbours(r).flatMap(i=>e.get(i)??[]),hasHosts:this.hostsOf.has(r)})))}neighbours(n){return(this.linksOf.get(n)??[]).map(e=>this.otherEnd(e,n))}otherEnd(n,e){let t=this.links[n];return t.a.guid===e?t.b.guid:t.a.guid}switches(){let n=[...this.places.keys()].filter(t=>this.nodes.has(t)),e=[...this.nodes.values()].filter(t=>t.kind==="switch"&&!this.places.has(t.guid));return[...n,...e.map(t=>t.guid)]}name(n){return this.nodes.get(n)?.name||n}linkAt(n,e){return this.linksOf.get(n)?.find(t=>{let{a:r,b:i}=this.links[t];return r.guid===n&&r.port===e||i.guid===n&&i.port===e})}find(n){let[e]=n.split(" - "),t=e.trim();if(this.nodes.has(t))return{node:t};let r=this.byName.get(t);if(r!==void 0)return{node:r};let i=t.lastIndexOf("/");if(i<0)return{};let o=Number(t.slice(i+1)),{node:s}=this.find(t.slice(0,i));return s===void 0?{}:{link:this.linkAt(s,o)}}};function et(a){return`${a.a.name||a.a.guid}/${a.a.port} – ${a.b.name||a.b.guid}/${a.b.port}`}function Hi(a,n){let e=a.nodes.get(n.a.guid)?.kind==="switch"?n.a:n.b;return`${e.name||e.guid}/${e.port}`}var $i=500,Sd=5e3,Ed=1e3,wd=3,Te={isLive:!1,alarms:[],events:[]},tr=new Set;function Re(a){Te={...Te,...a};for(let n of tr)n()}function le(){let[,a]=Ya(e=>e+1,0),n=Te;return oe(()=>{let e=()=>a(void 0);return tr.add(e),Te!==n&&e(),()=>{tr.delete(e)}},[]),Te}var en=-1,Xi=!1,Vi=-1;async function qi(){let a=Te.at;try{let[n,e,t]=await Promise.all([we("status",{at:a}),we("health",{at:a}),we("alarms",{limit:1e3,where:"state!=cleared"})]);if(a!==Te.at)return;Re({status:n,answered:n,health:e,alarms:t.items,error:void 0}),n.revision!==en&&await Ad()}catch(n){n instanceof fe&&n.status!==401&&Re({error:n})}}var Jt,ji="";async function Ad(){let a=Te.at;try{let[n,e]=await Promise.all([Qa("nodes",{at:a}),Qa("links",{at:a})]),t=`${n.items.filter(i=>i.state==="present").length} ${e.items.filter(i=>i.state!=="down").length}`,r=n.items.some(i=>i.kind==="switch"&&i.state==="present");if(r||(Jt=void 0),!a&&r&&(t!==ji||!Jt))try{Jt=await we("structure"),ji=t}catch(i){if(!(i instanceof fe))throw i;Jt=void 0}if(a!==Te.at)return;en=n.revision,Re({model:new zn(n.items,e.items,Jt),modelAt:a,fabricError:void 0}),Xi&&!a&&await Ki()}catch(n){n instanceof fe&&n.status!==401&&Re({fabricError:n,model:void 0,modelAt:a})}}async function Ki(){if(Vi===en&&Te.load)return;let a=en;Re({load:await we("load")}),Vi=a}async function Yi(){Xi=!0;try{await Ki()}catch(a){a instanceof fe&&a.status!==401&&Re({error:a})}}var er=!1,On=!1;function tt(){On=!0,!er&&(er=!0,(async()=>{for(;On;){On=!1;let a=performance.now();Te.session&&await qi();let n=Math.max(Ed,wd*(performance.now()-a));await new Promise(e=>setTimeout(e,n))}er=!1})())}function tn(a){en=-1,Re({at:a}),On=!1,qi()}var nr;async function Zi(){Gi(t=>{nr?.(),Re({session:null,loginError:t,model:void 0,isLive:!1})});try{let t=await Oi();if(Re({session:t??null}),!t)return}catch(t){t instanceof fe&&Re({session:null,loginError:t});return}tt();let a=setInterval(()=>{document.hidden||tt()},Sd),n=0;try{let t=await we("events");n=t.last,Re({events:t.items.slice(-$i).reverse()})}catch{}let e=Bi(n,t=>{Re({events:[t,...Te.events].slice(0,$i)}),Te.at||tt()},t=>t!==Te.isLive&&Re({isLive:t}));nr=()=>{clearInterval(a),e()}}function pt(){return Te.session?.role==="operate"||Te.session?.role==="admin"}function Qi(){nr?.(),Re({session:null,loginError:void 0,model:void 0})}var Rd=Symbol.for("pv"),Dd=0;function c(a,n,e,t,r,i){n||(n={});var o,s,l=n;if("ref"in l&&typeof a!="function")for(s in l={},n)s=="ref"?o=n[s]:l[s]=n[s];var d={type:a,props:l,key:e,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:Rd,__v:--Dd,__i:-1,__u:0};return(r||i)&&(d.__source=r,d.__self=i),re.vnode&&re.vnode(d),d}function nn(){let a=kd(le());return a?c("section",{class:"card advice","aria-labelledby":"advice-title",children:[c("h2",{id:"advice-title",children:a.title}),c("ol",{children:a.steps.map((n,e)=>c("li",{children:n},e))})]}):null}function kd({status:a,answered:n,at:e}){if(!(!a||!n||e)){if(a.awaits_consent)return{title:"The SM waits for your consent",steps:[c($,{children:["Another SM configured this subnet: ",a.awaits_consent,"."]}),c($,{children:["See what would change: ",c("code",{children:"ferrosm plan"}),"."]}),c($,{children:["Consent: ",c("code",{children:"ferrosm takeover --accept KIND"}),", or name it in the configuration."]})]};if(n.role==="standby"){let t=n.master;return{title:"This SM is standby",steps:[c($,{children:["The master is ",t?`${t.name} (${t.location})`:"another SM",". It has the state of the fabric: open the page on its host."]}),c($,{children:["This SM takes over if the master fails. To make it master now: ",c("code",{children:"ferrosm handover"})," on the host of the master."]})]}}if(n.role==="not-active")return{title:"This SM is not active",steps:[c($,{children:a.role_reason}),c($,{children:["Let it take part again: ",c("code",{children:"ferrosm takeover"}),"."]})]};if(!a.port)return{title:"No port to serve",steps:[c($,{children:["List the ports of the host: ",c("code",{children:"ferrosm ports --local"}),"."]}),c($,{children:"Load the driver of the HCA if none is listed; plug in a cable if all are down."}),c($,{children:["If several have a link, name one in the section ",c("code",{children:"[port]"})," of the configuration."]})]};if(!a.fabric)return{title:"The fabric is not discovered yet",steps:[c($,{children:["The first sweep takes seconds. It is running if the activity above is not ",c("code",{children:"idle"}),"."]}),c($,{children:["If it does not end, the log of the service says why: ",c("code",{children:"journalctl -u ferrosm"}),"."]}),c($,{children:["Check the link of the port: ",c("code",{children:"ferrosm ports --local"}),"."]})]};if(a.fabric.switches===0){let t=a.fabric.links===0;return{title:t?"The fabric is empty":"The fabric has no switch",steps:[t?c($,{children:["Nothing is connected to ",a.port.name,". Connect the port to a switch."]}):c($,{children:"Two hosts are connected back to back. That works; a larger fabric needs a switch."}),c($,{children:["If a cable is plugged in, check that it is firmly seated, and its type: ",c("code",{children:"ferrosm ports --local"}),"."]}),c($,{children:["To see what this page shows of a larger fabric: ",c("code",{children:"ferrosm demo fat-tree:8 --web"}),"."]})]}}}}var Wn={hour12:!1};function me({at:a}){if(!a)return c("span",{children:"–"});let n=new Date(a),t=n.toDateString()===new Date().toDateString()?n.toLocaleTimeString(void 0,Wn):n.toLocaleString(void 0,Wn);return c("time",{dateTime:a,title:a,children:t})}function de({kind:a,children:n}){return c("span",{class:`pill ${a}`,children:n})}function ue({error:a}){return c("div",{class:"failure",role:"alert",children:[c("strong",{children:a.message}),a.remedy&&c("p",{children:a.remedy})]})}function Pe(a,n={},e=0){let{answered:t}=le(),[r,i]=Z({}),o=`${a} ${JSON.stringify(n)}`;return oe(()=>{let s=!0;return we(a,n).then(l=>s&&i({answer:l})).catch(l=>s&&l instanceof fe&&i({error:l})),()=>{s=!1}},[o,t?.revision,e]),r}function Ji({title:a,onClose:n,children:e}){let t=gt(null);return oe(()=>t.current?.showModal(),[]),c("dialog",{ref:t,"aria-labelledby":"dialog-title",onClose:n,children:[c("h2",{id:"dialog-title",children:a}),e]})}var Ld=200;function Fe({caption:a,head:n,rows:e,row:t}){let[r,i]=Z(Ld);return c($,{children:[c("div",{class:"scroll",tabIndex:0,role:"region","aria-label":a,children:c("table",{children:[c("caption",{class:"visually-hidden",children:a}),c("thead",{children:c("tr",{children:n.map(o=>c("th",{scope:"col",children:o},o))})}),c("tbody",{children:e.slice(0,r).map(t)})]})}),e.length>r&&c("p",{children:[r," of ",e.length," ",c("button",{type:"button",onClick:()=>i(r+1e3),children:"Show more"})]})]})}function Bn({event:a}){let n=a.text.search(/ [a-z_]+=/);return n<0?c($,{children:a.text}):c($,{children:[a.text.slice(0,n)," ",c("span",{class:"fields",children:a.text.slice(n+1)})]})}function eo({model:a,item:n,actions:e}){return n.kind==="block"?c($,{children:[c("h3",{children:n.label}),c("p",{children:[n.nodes.length," switches, ",n.hosts," hosts"]}),c("p",{children:c("button",{type:"button",onClick:()=>e.toggle(n.key),children:"Show its switches"})}),c("ul",{class:"plain short",children:n.nodes.slice(0,60).map(t=>c("li",{children:c("button",{type:"button",class:"link",onClick:()=>e.show({node:t}),children:a.name(t)})},t))}),n.nodes.length>60&&c("p",{children:["and ",n.nodes.length-60," more"]})]}):c(Cd,{model:a,guid:n.nodes[0],hosts:n.hosts,actions:e})}function Cd({model:a,guid:n,hosts:e,actions:t}){let{alarms:r,health:i,at:o}=le(),s=a.nodes.get(n);if(!s)return c("p",{children:"This node is no longer there."});let l=r.filter(p=>p.object.guid===n),d=i?.maintenance?.find(p=>p.guid===n&&p.kind==="drained-switch"),u=(a.linksOf.get(n)??[]).map(p=>({index:p,link:a.links[p]})),f=({a:p,b:y})=>p.guid===n?p.port:y.port,g=a.places.get(n),h=s.kind==="switch";return c($,{children:[c("h3",{children:s.name||s.guid}),c("p",{children:[c(de,{kind:s.state==="present"?"ok":"error",children:s.state}),d&&c($,{children:[" ",c(de,{kind:"maintenance",children:"drained"})]}),s.since&&c($,{children:[" since ",c(me,{at:s.since})]})]}),c("dl",{class:"facts",children:[c("dt",{children:"Kind"}),c("dd",{children:s.kind==="ca"?"host (channel adapter)":s.kind}),c("dt",{children:"GUID"}),c("dd",{children:c("code",{children:s.guid})}),c("dt",{children:s.lids.length===1?"LID":"LIDs"}),c("dd",{children:s.lids.join(", ")||"none"}),!h&&c($,{children:[c("dt",{children:"At"}),c("dd",{children:s.location})]}),c("dt",{children:"Ports"}),c("dd",{children:[s.ports_linked," of ",s.ports," linked"]}),g?.level!==void 0&&c($,{children:[c("dt",{children:"Level"}),c("dd",{children:g.level===0?"0 (leaf)":g.level})]}),g?.group!==void 0&&c($,{children:[c("dt",{children:"Group"}),c("dd",{children:g.group})]}),g?.coordinates&&c($,{children:[c("dt",{children:"Coordinates"}),c("dd",{children:g.coordinates.join(", ")})]})]}),l.map(p=>c("p",{class:"alarm",children:[c(de,{kind:p.severity,children:["alarm ",p.id]})," ",p.text]},p.id)),d?.reason&&c("p",{children:["Drained: ",d.reason]}),c("div",{class:"actions",children:[(a.hostsOf.get(n)?.length??0)>0&&c("button",{type:"button",onClick:()=>t.toggle(n),children:e>0?"Show its hosts":"Hide its hosts"}),c("button",{type:"button",onClick:()=>t.pathFrom(s.name||s.guid),children:"Path from here"}),c("button",{type:"button",onClick:()=>t.pathTo(s.name||s.guid),children:"Path to here"}),!o&&s.state==="present"&&c("button",{type:"button",onClick:()=>t.whatIf(s.guid),children:"What if it is lost?"}),!o&&h&&!d&&pt()&&s.state==="present"&&c("button",{type:"button",onClick:()=>t.maintain("drain",s.name||s.guid),children:"Drain…"})]}),c("h4",{children:"Links"}),c("div",{class:"scroll",tabIndex:0,role:"region","aria-label":`Links of ${s.name}`,children:c("table",{children:[c("thead",{children:c("tr",{children:[c("th",{scope:"col",children:"Port"}),c("th",{scope:"col",children:"To"}),c("th",{scope:"col",children:"State"}),c("th",{scope:"col",children:"Rate"})]})}),c("tbody",{children:u.sort((p,y)=>f(p.link)-f(y.link)).map(({index:p,link:y})=>c("tr",{children:[c("td",{children:f(y)}),c("td",{children:c("button",{type:"button",class:"link",onClick:()=>t.show({link:p}),children:a.name(a.otherEnd(p,n))})}),c("td",{children:c(an,{link:y})}),c("td",{children:y.rate||"–"})]},p))})]})}),c(Pd,{node:s})]})}function ar({title:a,ask:n,children:e}){let[t,r]=Z(),[i,o]=Z(),s=()=>{o(void 0),n().then(r).catch(l=>l instanceof fe&&o(l))};return c("details",{onToggle:l=>l.currentTarget.open&&s(),children:[c("summary",{children:a}),i&&c(ue,{error:i}),t!==void 0&&e(t)]})}function Pd({node:a}){let{at:n}=le(),{guid:e}=a;return c("div",{children:[a.kind==="switch"&&c(ar,{title:"Ports, as read",ask:()=>we("ports",{at:n,limit:1e3,where:`guid=${e}`}),children:({items:t})=>c("table",{children:[c("thead",{children:c("tr",{children:[c("th",{scope:"col",children:"Port"}),c("th",{scope:"col",children:"State"}),c("th",{scope:"col",children:"Physical"}),c("th",{scope:"col",children:"MTU"})]})}),c("tbody",{children:t.map(r=>c("tr",{children:[c("td",{children:r.port}),c("td",{children:r.state}),c("td",{children:r.physical_state}),c("td",{children:r.mtu})]},r.port))})]})}),a.kind!=="switch"&&a.state==="present"&&!n&&c(ar,{title:"Partitions and groups",ask:()=>we(`hosts/${e}`),children:({ports:t})=>c("ul",{class:"plain",children:t.map(({place:r,partitions:i,groups:o})=>c("li",{children:["Port ",r.number,": ",i.join(", ")||"no partition","; ",o.length===0?"no group":o.join(", ")]},r.port.guid))})}),c(ar,{title:"Changes",ask:()=>we("changes",{node:e,limit:50}),children:({items:t})=>c($,{children:[t.length===0&&c("p",{children:"None known."}),c("ul",{class:"plain",children:[...t].reverse().map(r=>c("li",{children:[c(me,{at:r.at})," ",r.what,r.cause&&`, because of: ${r.cause}`,r.effect&&`; ${r.effect}`]},r.number))})]})})]},e)}function an({link:a}){if(a.maintenance)return c(de,{kind:"maintenance",children:a.maintenance==="disabled-port"?"disabled":"drained"});let n=a.state==="up"?"ok":a.state==="down"?"error":"warning";return c(de,{kind:n,children:a.state})}function rr({model:a,view:n,bundle:e,routes:t,actions:r}){if(e.links.length>1){let i=o=>n.items.get(o)?.label??o;return c($,{children:[c("h3",{children:[i(e.a)," – ",i(e.b)]}),c("p",{children:[e.links.length," links"]}),c("ul",{class:"plain short",children:e.links.slice(0,100).map(o=>c("li",{children:[c(an,{link:a.links[o]})," ",c("button",{type:"button",class:"link",onClick:()=>r.show({link:o}),children:et(a.links[o])})]},o))})]})}return c(Fd,{model:a,index:e.links[0],routes:t?.[e.links[0]],actions:r})}function Fd({model:a,index:n,routes:e,actions:t}){let{at:r}=le(),i=a.links[n];if(!i)return c("p",{children:"This link is no longer there."});let o=Hi(a,i),s=i.state!=="down";return c($,{children:[c("h3",{children:et(i)}),c("p",{children:[c(an,{link:i}),i.since&&c($,{children:[" since ",c(me,{at:i.since})]})]}),c("dl",{class:"facts",children:[c("dt",{children:"Rate"}),c("dd",{children:i.rate?`${i.rate}, ${i.mbps/1e3} Gb/s`:"–"}),i.possible_rate&&i.possible_rate!==i.rate&&c($,{children:[c("dt",{children:"Possible"}),c("dd",{children:i.possible_rate})]}),c("dt",{children:"Went down"}),c("dd",{children:[i.times_down," times since this SM is master"]}),e!==void 0&&c($,{children:[c("dt",{children:"Routes"}),c("dd",{children:[e," in the direction with more"]})]}),i.note&&c($,{children:[c("dt",{children:"Note"}),c("dd",{children:i.note})]})]}),c("div",{class:"actions",children:[c("button",{type:"button",onClick:()=>t.show({node:i.a.guid}),children:i.a.name||i.a.guid}),c("button",{type:"button",onClick:()=>t.show({node:i.b.guid}),children:i.b.name||i.b.guid}),!r&&s&&c("button",{type:"button",onClick:()=>t.whatIf(o),children:"What if it is lost?"}),!r&&s&&pt()&&!i.maintenance&&c($,{children:[c("button",{type:"button",onClick:()=>t.maintain("drain",o),children:"Drain…"}),c("button",{type:"button",onClick:()=>t.maintain("disable",o),children:"Disable port…"})]})]})]})}function to({from:a,to:n,onPath:e}){let{at:t}=le(),{answer:r,error:i}=Pe("paths",{from:a,to:n,at:t});return Id(r,e),i?c(ue,{error:i}):r?c($,{children:[c("h3",{children:[r.from.name," → ",r.to.name]}),r.dropped&&c("p",{class:"alarm",children:[c(de,{kind:"error",children:"dropped"})," ",r.dropped]}),c("dl",{class:"facts",children:[c("dt",{children:"LID, SL"}),c("dd",{children:[r.lid,", ",r.sl]}),c("dt",{children:"MTU"}),c("dd",{children:r.mtu}),c("dt",{children:"Narrowest"}),c("dd",{children:[r.narrowest_mbps/1e3," Gb/s"]}),c("dt",{children:"P_Keys"}),c("dd",{children:r.p_keys.join(", ")||"none"})]}),c("table",{children:[c("thead",{children:c("tr",{children:[c("th",{scope:"col",children:"Switch"}),c("th",{scope:"col",children:"In"}),c("th",{scope:"col",children:"Out"}),c("th",{scope:"col",children:"VL"})]})}),c("tbody",{children:r.hops.map(o=>c("tr",{children:[c("td",{children:o.name}),c("td",{children:o.in_port}),c("td",{children:o.out_port}),c("td",{children:o.vl??"–"})]},o.guid))})]})]}):c("p",{role:"status",children:"Asking for the path…"})}function Id(a,n){oe(()=>n(a),[a])}var vo=ct(Rt(),1);function Bd(){let a=arguments[0];for(let n=1,e=arguments.length;n<e;n++)if(arguments[n])for(let t in arguments[n])a[t]=arguments[n][t];return a}var be=Bd;typeof Object.assign=="function"&&(be=Object.assign);function Me(a,n,e,t){let r=a._nodes.get(n),i=null;return r&&(t==="mixed"?i=r.out&&r.out[e]||r.undirected&&r.undirected[e]:t==="directed"?i=r.out&&r.out[e]:i=r.undirected&&r.undirected[e]),i}function _e(a){return typeof a=="object"&&a!==null}function mo(a){let n;for(n in a)return!1;return!0}function Ie(a,n,e){Object.defineProperty(a,n,{enumerable:!1,configurable:!1,writable:!0,value:e})}function Be(a,n,e){let t={enumerable:!0,configurable:!0};typeof e=="function"?t.get=e:(t.value=e,t.writable=!1),Object.defineProperty(a,n,t)}function fo(a){return!(!_e(a)||a.attributes&&!Array.isArray(a.attributes))}function Ud(){let a=Math.floor(Math.random()*256)&255;return()=>a++}function qe(){let a=arguments,n=null,e=-1;return{[Symbol.iterator](){return this},next(){let t=null;do{if(n===null){if(e++,e>=a.length)return{done:!0};n=a[e][Symbol.iterator]()}if(t=n.next(),t.done){n=null;continue}break}while(!0);return t}}}function kt(){return{[Symbol.iterator](){return this},next(){return{done:!0}}}}var sn=class extends Error{constructor(n){super(),this.name="GraphError",this.message=n}},U=class a extends sn{constructor(n){super(n),this.name="InvalidArgumentsGraphError",typeof Error.captureStackTrace=="function"&&Error.captureStackTrace(this,a.prototype.constructor)}},B=class a extends sn{constructor(n){super(n),this.name="NotFoundGraphError",typeof Error.captureStackTrace=="function"&&Error.captureStackTrace(this,a.prototype.constructor)}},K=class a extends sn{constructor(n){super(n),this.name="UsageGraphError",typeof Error.captureStackTrace=="function"&&Error.captureStackTrace(this,a.prototype.constructor)}};function bo(a,n){this.key=a,this.attributes=n,this.clear()}bo.prototype.clear=function(){this.inDegree=0,this.outDegree=0,this.undirectedDegree=0,this.undirectedLoops=0,this.directedLoops=0,this.in={},this.out={},this.undirected={}};function yo(a,n){this.key=a,this.attributes=n,this.clear()}yo.prototype.clear=function(){this.inDegree=0,this.outDegree=0,this.directedLoops=0,this.in={},this.out={}};function _o(a,n){this.key=a,this.attributes=n,this.clear()}_o.prototype.clear=function(){this.undirectedDegree=0,this.undirectedLoops=0,this.undirected={}};function Lt(a,n,e,t,r){this.key=n,this.attributes=r,this.undirected=a,this.source=e,this.target=t}Lt.prototype.attach=function(){let a="out",n="in";this.undirected&&(a=n="undirected");let e=this.source.key,t=this.target.key;this.source[a][t]=this,!(this.undirected&&e===t)&&(this.target[n][e]=this)};Lt.prototype.attachMulti=function(){let a="out",n="in",e=this.source.key,t=this.target.key;this.undirected&&(a=n="undirected");let r=this.source[a],i=r[t];if(typeof i>"u"){r[t]=this,this.undirected&&e===t||(this.target[n][e]=this);return}i.previous=this,this.next=i,r[t]=this,this.target[n][e]=this};Lt.prototype.detach=function(){let a=this.source.key,n=this.target.key,e="out",t="in";this.undirected&&(e=t="undirected"),delete this.source[e][n],delete this.target[t][a]};Lt.prototype.detachMulti=function(){let a=this.source.key,n=this.target.key,e="out",t="in";this.undirected&&(e=t="undirected"),this.previous===void 0?this.next===void 0?(delete this.source[e][n],delete this.target[t][a]):(this.next.previous=void 0,this.source[e][n]=this.next,this.target[t][a]=this.next):(this.previous.next=this.next,this.next!==void 0&&(this.next.previous=this.previous))};var xo=0,To=1,Hd=2,So=3;function Ke(a,n,e,t,r,i,o){let s,l,d,u;if(t=""+t,e===xo){if(s=a._nodes.get(t),!s)throw new B(`Graph.${n}: could not find the "${t}" node in the graph.`);d=r,u=i}else if(e===So){if(r=""+r,l=a._edges.get(r),!l)throw new B(`Graph.${n}: could not find the "${r}" edge in the graph.`);let f=l.source.key,g=l.target.key;if(t===f)s=l.target;else if(t===g)s=l.source;else throw new B(`Graph.${n}: the "${t}" node is not attached to the "${r}" edge (${f}, ${g}).`);d=i,u=o}else{if(l=a._edges.get(t),!l)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`);e===To?s=l.source:s=l.target,d=r,u=i}return[s,d,u]}function $d(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Ke(this,n,e,t,r,i);return o.attributes[s]}}function Vd(a,n,e){a.prototype[n]=function(t,r){let[i]=Ke(this,n,e,t,r);return i.attributes}}function jd(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Ke(this,n,e,t,r,i);return o.attributes.hasOwnProperty(s)}}function Xd(a,n,e){a.prototype[n]=function(t,r,i,o){let[s,l,d]=Ke(this,n,e,t,r,i,o);return s.attributes[l]=d,this.emit("nodeAttributesUpdated",{key:s.key,type:"set",attributes:s.attributes,name:l}),this}}function qd(a,n,e){a.prototype[n]=function(t,r,i,o){let[s,l,d]=Ke(this,n,e,t,r,i,o);if(typeof d!="function")throw new U(`Graph.${n}: updater should be a function.`);let u=s.attributes,f=d(u[l]);return u[l]=f,this.emit("nodeAttributesUpdated",{key:s.key,type:"set",attributes:s.attributes,name:l}),this}}function Kd(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Ke(this,n,e,t,r,i);return delete o.attributes[s],this.emit("nodeAttributesUpdated",{key:o.key,type:"remove",attributes:o.attributes,name:s}),this}}function Yd(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Ke(this,n,e,t,r,i);if(!_e(s))throw new U(`Graph.${n}: provided attributes are not a plain object.`);return o.attributes=s,this.emit("nodeAttributesUpdated",{key:o.key,type:"replace",attributes:o.attributes}),this}}function Zd(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Ke(this,n,e,t,r,i);if(!_e(s))throw new U(`Graph.${n}: provided attributes are not a plain object.`);return be(o.attributes,s),this.emit("nodeAttributesUpdated",{key:o.key,type:"merge",attributes:o.attributes,data:s}),this}}function Qd(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Ke(this,n,e,t,r,i);if(typeof s!="function")throw new U(`Graph.${n}: provided updater is not a function.`);return o.attributes=s(o.attributes),this.emit("nodeAttributesUpdated",{key:o.key,type:"update",attributes:o.attributes}),this}}var Jd=[{name:a=>`get${a}Attribute`,attacher:$d},{name:a=>`get${a}Attributes`,attacher:Vd},{name:a=>`has${a}Attribute`,attacher:jd},{name:a=>`set${a}Attribute`,attacher:Xd},{name:a=>`update${a}Attribute`,attacher:qd},{name:a=>`remove${a}Attribute`,attacher:Kd},{name:a=>`replace${a}Attributes`,attacher:Yd},{name:a=>`merge${a}Attributes`,attacher:Zd},{name:a=>`update${a}Attributes`,attacher:Qd}];function eu(a){Jd.forEach(function({name:n,attacher:e}){e(a,n("Node"),xo),e(a,n("Source"),To),e(a,n("Target"),Hd),e(a,n("Opposite"),So)})}function tu(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new K(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new K(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Me(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new K(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}return i.attributes[r]}}function nu(a,n,e){a.prototype[n]=function(t){let r;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new K(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>1){if(this.multi)throw new K(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let i=""+t,o=""+arguments[1];if(r=Me(this,i,o,e),!r)throw new B(`Graph.${n}: could not find an edge for the given path ("${i}" - "${o}").`)}else{if(e!=="mixed")throw new K(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,r=this._edges.get(t),!r)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}return r.attributes}}function au(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new K(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new K(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Me(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new K(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}return i.attributes.hasOwnProperty(r)}}function ru(a,n,e){a.prototype[n]=function(t,r,i){let o;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new K(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>3){if(this.multi)throw new K(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let s=""+t,l=""+r;if(r=arguments[2],i=arguments[3],o=Me(this,s,l,e),!o)throw new B(`Graph.${n}: could not find an edge for the given path ("${s}" - "${l}").`)}else{if(e!=="mixed")throw new K(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,o=this._edges.get(t),!o)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}return o.attributes[r]=i,this.emit("edgeAttributesUpdated",{key:o.key,type:"set",attributes:o.attributes,name:r}),this}}function iu(a,n,e){a.prototype[n]=function(t,r,i){let o;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new K(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>3){if(this.multi)throw new K(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let s=""+t,l=""+r;if(r=arguments[2],i=arguments[3],o=Me(this,s,l,e),!o)throw new B(`Graph.${n}: could not find an edge for the given path ("${s}" - "${l}").`)}else{if(e!=="mixed")throw new K(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,o=this._edges.get(t),!o)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}if(typeof i!="function")throw new U(`Graph.${n}: updater should be a function.`);return o.attributes[r]=i(o.attributes[r]),this.emit("edgeAttributesUpdated",{key:o.key,type:"set",attributes:o.attributes,name:r}),this}}function ou(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new K(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new K(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Me(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new K(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}return delete i.attributes[r],this.emit("edgeAttributesUpdated",{key:i.key,type:"remove",attributes:i.attributes,name:r}),this}}function su(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new K(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new K(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Me(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new K(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}if(!_e(r))throw new U(`Graph.${n}: provided attributes are not a plain object.`);return i.attributes=r,this.emit("edgeAttributesUpdated",{key:i.key,type:"replace",attributes:i.attributes}),this}}function lu(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new K(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new K(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Me(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new K(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}if(!_e(r))throw new U(`Graph.${n}: provided attributes are not a plain object.`);return be(i.attributes,r),this.emit("edgeAttributesUpdated",{key:i.key,type:"merge",attributes:i.attributes,data:r}),this}}function du(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new K(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new K(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Me(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new K(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}if(typeof r!="function")throw new U(`Graph.${n}: provided updater is not a function.`);return i.attributes=r(i.attributes),this.emit("edgeAttributesUpdated",{key:i.key,type:"update",attributes:i.attributes}),this}}var uu=[{name:a=>`get${a}Attribute`,attacher:tu},{name:a=>`get${a}Attributes`,attacher:nu},{name:a=>`has${a}Attribute`,attacher:au},{name:a=>`set${a}Attribute`,attacher:ru},{name:a=>`update${a}Attribute`,attacher:iu},{name:a=>`remove${a}Attribute`,attacher:ou},{name:a=>`replace${a}Attributes`,attacher:su},{name:a=>`merge${a}Attributes`,attacher:lu},{name:a=>`update${a}Attributes`,attacher:du}];function cu(a){uu.forEach(function({name:n,attacher:e}){e(a,n("Edge"),"mixed"),e(a,n("DirectedEdge"),"directed"),e(a,n("UndirectedEdge"),"undirected")})}var hu=[{name:"edges",type:"mixed"},{name:"inEdges",type:"directed",direction:"in"},{name:"outEdges",type:"directed",direction:"out"},{name:"inboundEdges",type:"mixed",direction:"in"},{name:"outboundEdges",type:"mixed",direction:"out"},{name:"directedEdges",type:"directed"},{name:"undirectedEdges",type:"undirected"}];function fu(a,n,e,t){let r=!1;for(let i in n){if(i===t)continue;let o=n[i];if(r=e(o.key,o.attributes,o.source.key,o.target.key,o.source.attributes,o.target.attributes,o.undirected),a&&r)return o.key}}function gu(a,n,e,t){let r,i,o,s=!1;for(let l in n)if(l!==t){r=n[l];do{if(i=r.source,o=r.target,s=e(r.key,r.attributes,i.key,o.key,i.attributes,o.attributes,r.undirected),a&&s)return r.key;r=r.next}while(r!==void 0)}}function or(a,n){let e=Object.keys(a),t=e.length,r,i=0;return{[Symbol.iterator](){return this},next(){do if(r)r=r.next;else{if(i>=t)return{done:!0};let o=e[i++];if(o===n){r=void 0;continue}r=a[o]}while(!r);return{done:!1,value:{edge:r.key,attributes:r.attributes,source:r.source.key,target:r.target.key,sourceAttributes:r.source.attributes,targetAttributes:r.target.attributes,undirected:r.undirected}}}}}function pu(a,n,e,t){let r=n[e];if(!r)return;let i=r.source,o=r.target;if(t(r.key,r.attributes,i.key,o.key,i.attributes,o.attributes,r.undirected)&&a)return r.key}function vu(a,n,e,t){let r=n[e];if(!r)return;let i=!1;do{if(i=t(r.key,r.attributes,r.source.key,r.target.key,r.source.attributes,r.target.attributes,r.undirected),a&&i)return r.key;r=r.next}while(r!==void 0)}function sr(a,n){let e=a[n];if(e.next!==void 0)return{[Symbol.iterator](){return this},next(){if(!e)return{done:!0};let r={edge:e.key,attributes:e.attributes,source:e.source.key,target:e.target.key,sourceAttributes:e.source.attributes,targetAttributes:e.target.attributes,undirected:e.undirected};return e=e.next,{done:!1,value:r}}};let t=!1;return{[Symbol.iterator](){return this},next(){return t===!0?{done:!0}:(t=!0,{done:!1,value:{edge:e.key,attributes:e.attributes,source:e.source.key,target:e.target.key,sourceAttributes:e.source.attributes,targetAttributes:e.target.attributes,undirected:e.undirected}})}}}function mu(a,n){if(a.size===0)return[];if(n==="mixed"||n===a.type)return Array.from(a._edges.keys());let e=n==="undirected"?a.undirectedSize:a.directedSize,t=new Array(e),r=n==="undirected",i=a._edges.values(),o=0,s,l;for(;s=i.next(),s.done!==!0;)l=s.value,l.undirected===r&&(t[o++]=l.key);return t}function Eo(a,n,e,t){if(n.size===0)return;let r=e!=="mixed"&&e!==n.type,i=e==="undirected",o,s,l=!1,d=n._edges.values();for(;o=d.next(),o.done!==!0;){if(s=o.value,r&&s.undirected!==i)continue;let{key:u,attributes:f,source:g,target:h}=s;if(l=t(u,f,g.key,h.key,g.attributes,h.attributes,s.undirected),a&&l)return u}}function bu(a,n){if(a.size===0)return kt();let e=n!=="mixed"&&n!==a.type,t=n==="undirected",r=a._edges.values();return{[Symbol.iterator](){return this},next(){let i,o;for(;;){if(i=r.next(),i.done)return i;if(o=i.value,!(e&&o.undirected!==t))break}return{value:{edge:o.key,attributes:o.attributes,source:o.source.key,target:o.target.key,sourceAttributes:o.source.attributes,targetAttributes:o.target.attributes,undirected:o.undirected},done:!1}}}}function lr(a,n,e,t,r,i){let o=n?gu:fu,s;if(e!=="undirected"&&(t!=="out"&&(s=o(a,r.in,i),a&&s)||t!=="in"&&(s=o(a,r.out,i,t?void 0:r.key),a&&s))||e!=="directed"&&(s=o(a,r.undirected,i),a&&s))return s}function yu(a,n,e,t){let r=[];return lr(!1,a,n,e,t,function(i){r.push(i)}),r}function _u(a,n,e){let t=kt();return a!=="undirected"&&(n!=="out"&&typeof e.in<"u"&&(t=qe(t,or(e.in))),n!=="in"&&typeof e.out<"u"&&(t=qe(t,or(e.out,n?void 0:e.key)))),a!=="directed"&&typeof e.undirected<"u"&&(t=qe(t,or(e.undirected))),t}function dr(a,n,e,t,r,i,o){let s=e?vu:pu,l;if(n!=="undirected"&&(typeof r.in<"u"&&t!=="out"&&(l=s(a,r.in,i,o),a&&l)||typeof r.out<"u"&&t!=="in"&&(t||r.key!==i)&&(l=s(a,r.out,i,o),a&&l))||n!=="directed"&&typeof r.undirected<"u"&&(l=s(a,r.undirected,i,o),a&&l))return l}function xu(a,n,e,t,r){let i=[];return dr(!1,a,n,e,t,r,function(o){i.push(o)}),i}function Tu(a,n,e,t){let r=kt();return a!=="undirected"&&(typeof e.in<"u"&&n!=="out"&&t in e.in&&(r=qe(r,sr(e.in,t))),typeof e.out<"u"&&n!=="in"&&t in e.out&&(n||e.key!==t)&&(r=qe(r,sr(e.out,t)))),a!=="directed"&&typeof e.undirected<"u"&&t in e.undirected&&(r=qe(r,sr(e.undirected,t))),r}function Su(a,n){let{name:e,type:t,direction:r}=n;a.prototype[e]=function(i,o){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return[];if(!arguments.length)return mu(this,t);if(arguments.length===1){i=""+i;let s=this._nodes.get(i);if(typeof s>"u")throw new B(`Graph.${e}: could not find the "${i}" node in the graph.`);return yu(this.multi,t==="mixed"?this.type:t,r,s)}if(arguments.length===2){i=""+i,o=""+o;let s=this._nodes.get(i);if(!s)throw new B(`Graph.${e}:  could not find the "${i}" source node in the graph.`);if(!this._nodes.has(o))throw new B(`Graph.${e}:  could not find the "${o}" target node in the graph.`);return xu(t,this.multi,r,s,o)}throw new U(`Graph.${e}: too many arguments (expecting 0, 1 or 2 and got ${arguments.length}).`)}}function Eu(a,n){let{name:e,type:t,direction:r}=n,i="forEach"+e[0].toUpperCase()+e.slice(1,-1);a.prototype[i]=function(d,u,f){if(!(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)){if(arguments.length===1)return f=d,Eo(!1,this,t,f);if(arguments.length===2){d=""+d,f=u;let g=this._nodes.get(d);if(typeof g>"u")throw new B(`Graph.${i}: could not find the "${d}" node in the graph.`);return lr(!1,this.multi,t==="mixed"?this.type:t,r,g,f)}if(arguments.length===3){d=""+d,u=""+u;let g=this._nodes.get(d);if(!g)throw new B(`Graph.${i}:  could not find the "${d}" source node in the graph.`);if(!this._nodes.has(u))throw new B(`Graph.${i}:  could not find the "${u}" target node in the graph.`);return dr(!1,t,this.multi,r,g,u,f)}throw new U(`Graph.${i}: too many arguments (expecting 1, 2 or 3 and got ${arguments.length}).`)}};let o="map"+e[0].toUpperCase()+e.slice(1);a.prototype[o]=function(){let d=Array.prototype.slice.call(arguments),u=d.pop(),f;if(d.length===0){let g=0;t!=="directed"&&(g+=this.undirectedSize),t!=="undirected"&&(g+=this.directedSize),f=new Array(g);let h=0;d.push((p,y,m,v,b,_,x)=>{f[h++]=u(p,y,m,v,b,_,x)})}else f=[],d.push((g,h,p,y,m,v,b)=>{f.push(u(g,h,p,y,m,v,b))});return this[i].apply(this,d),f};let s="filter"+e[0].toUpperCase()+e.slice(1);a.prototype[s]=function(){let d=Array.prototype.slice.call(arguments),u=d.pop(),f=[];return d.push((g,h,p,y,m,v,b)=>{u(g,h,p,y,m,v,b)&&f.push(g)}),this[i].apply(this,d),f};let l="reduce"+e[0].toUpperCase()+e.slice(1);a.prototype[l]=function(){let d=Array.prototype.slice.call(arguments);if(d.length<2||d.length>4)throw new U(`Graph.${l}: invalid number of arguments (expecting 2, 3 or 4 and got ${d.length}).`);if(typeof d[d.length-1]=="function"&&typeof d[d.length-2]!="function")throw new U(`Graph.${l}: missing initial value. You must provide it because the callback takes more than one argument and we cannot infer the initial value from the first iteration, as you could with a simple array.`);let u,f;d.length===2?(u=d[0],f=d[1],d=[]):d.length===3?(u=d[1],f=d[2],d=[d[0]]):d.length===4&&(u=d[2],f=d[3],d=[d[0],d[1]]);let g=f;return d.push((h,p,y,m,v,b,_)=>{g=u(g,h,p,y,m,v,b,_)}),this[i].apply(this,d),g}}function wu(a,n){let{name:e,type:t,direction:r}=n,i="find"+e[0].toUpperCase()+e.slice(1,-1);a.prototype[i]=function(l,d,u){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return!1;if(arguments.length===1)return u=l,Eo(!0,this,t,u);if(arguments.length===2){l=""+l,u=d;let f=this._nodes.get(l);if(typeof f>"u")throw new B(`Graph.${i}: could not find the "${l}" node in the graph.`);return lr(!0,this.multi,t==="mixed"?this.type:t,r,f,u)}if(arguments.length===3){l=""+l,d=""+d;let f=this._nodes.get(l);if(!f)throw new B(`Graph.${i}:  could not find the "${l}" source node in the graph.`);if(!this._nodes.has(d))throw new B(`Graph.${i}:  could not find the "${d}" target node in the graph.`);return dr(!0,t,this.multi,r,f,d,u)}throw new U(`Graph.${i}: too many arguments (expecting 1, 2 or 3 and got ${arguments.length}).`)};let o="some"+e[0].toUpperCase()+e.slice(1,-1);a.prototype[o]=function(){let l=Array.prototype.slice.call(arguments),d=l.pop();return l.push((f,g,h,p,y,m,v)=>d(f,g,h,p,y,m,v)),!!this[i].apply(this,l)};let s="every"+e[0].toUpperCase()+e.slice(1,-1);a.prototype[s]=function(){let l=Array.prototype.slice.call(arguments),d=l.pop();return l.push((f,g,h,p,y,m,v)=>!d(f,g,h,p,y,m,v)),!this[i].apply(this,l)}}function Au(a,n){let{name:e,type:t,direction:r}=n,i=e.slice(0,-1)+"Entries";a.prototype[i]=function(o,s){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return kt();if(!arguments.length)return bu(this,t);if(arguments.length===1){o=""+o;let l=this._nodes.get(o);if(!l)throw new B(`Graph.${i}: could not find the "${o}" node in the graph.`);return _u(t,r,l)}if(arguments.length===2){o=""+o,s=""+s;let l=this._nodes.get(o);if(!l)throw new B(`Graph.${i}:  could not find the "${o}" source node in the graph.`);if(!this._nodes.has(s))throw new B(`Graph.${i}:  could not find the "${s}" target node in the graph.`);return Tu(t,r,l,s)}throw new U(`Graph.${i}: too many arguments (expecting 0, 1 or 2 and got ${arguments.length}).`)}}function Ru(a){hu.forEach(n=>{Su(a,n),Eu(a,n),wu(a,n),Au(a,n)})}var Du=[{name:"neighbors",type:"mixed"},{name:"inNeighbors",type:"directed",direction:"in"},{name:"outNeighbors",type:"directed",direction:"out"},{name:"inboundNeighbors",type:"mixed",direction:"in"},{name:"outboundNeighbors",type:"mixed",direction:"out"},{name:"directedNeighbors",type:"directed"},{name:"undirectedNeighbors",type:"undirected"}];function Yn(){this.A=null,this.B=null}Yn.prototype.wrap=function(a){this.A===null?this.A=a:this.B===null&&(this.B=a)};Yn.prototype.has=function(a){return this.A!==null&&a in this.A||this.B!==null&&a in this.B};function rn(a,n,e,t,r){for(let i in t){let o=t[i],s=o.source,l=o.target,d=s===e?l:s;if(n&&n.has(d.key))continue;let u=r(d.key,d.attributes);if(a&&u)return d.key}}function ur(a,n,e,t,r){if(n!=="mixed"){if(n==="undirected")return rn(a,null,t,t.undirected,r);if(typeof e=="string")return rn(a,null,t,t[e],r)}let i=new Yn,o;if(n!=="undirected"){if(e!=="out"){if(o=rn(a,null,t,t.in,r),a&&o)return o;i.wrap(t.in)}if(e!=="in"){if(o=rn(a,i,t,t.out,r),a&&o)return o;i.wrap(t.out)}}if(n!=="directed"&&(o=rn(a,i,t,t.undirected,r),a&&o))return o}function ku(a,n,e){if(a!=="mixed"){if(a==="undirected")return Object.keys(e.undirected);if(typeof n=="string")return Object.keys(e[n])}let t=[];return ur(!1,a,n,e,function(r){t.push(r)}),t}function on(a,n,e){let t=Object.keys(e),r=t.length,i=0;return{[Symbol.iterator](){return this},next(){let o=null;do{if(i>=r)return a&&a.wrap(e),{done:!0};let s=e[t[i++]],l=s.source,d=s.target;if(o=l===n?d:l,a&&a.has(o.key)){o=null;continue}}while(o===null);return{done:!1,value:{neighbor:o.key,attributes:o.attributes}}}}}function Lu(a,n,e){if(a!=="mixed"){if(a==="undirected")return on(null,e,e.undirected);if(typeof n=="string")return on(null,e,e[n])}let t=kt(),r=new Yn;return a!=="undirected"&&(n!=="out"&&(t=qe(t,on(r,e,e.in))),n!=="in"&&(t=qe(t,on(r,e,e.out)))),a!=="directed"&&(t=qe(t,on(r,e,e.undirected))),t}function Cu(a,n){let{name:e,type:t,direction:r}=n;a.prototype[e]=function(i){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return[];i=""+i;let o=this._nodes.get(i);if(typeof o>"u")throw new B(`Graph.${e}: could not find the "${i}" node in the graph.`);return ku(t==="mixed"?this.type:t,r,o)}}function Pu(a,n){let{name:e,type:t,direction:r}=n,i="forEach"+e[0].toUpperCase()+e.slice(1,-1);a.prototype[i]=function(d,u){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return;d=""+d;let f=this._nodes.get(d);if(typeof f>"u")throw new B(`Graph.${i}: could not find the "${d}" node in the graph.`);ur(!1,t==="mixed"?this.type:t,r,f,u)};let o="map"+e[0].toUpperCase()+e.slice(1);a.prototype[o]=function(d,u){let f=[];return this[i](d,(g,h)=>{f.push(u(g,h))}),f};let s="filter"+e[0].toUpperCase()+e.slice(1);a.prototype[s]=function(d,u){let f=[];return this[i](d,(g,h)=>{u(g,h)&&f.push(g)}),f};let l="reduce"+e[0].toUpperCase()+e.slice(1);a.prototype[l]=function(d,u,f){if(arguments.length<3)throw new U(`Graph.${l}: missing initial value. You must provide it because the callback takes more than one argument and we cannot infer the initial value from the first iteration, as you could with a simple array.`);let g=f;return this[i](d,(h,p)=>{g=u(g,h,p)}),g}}function Fu(a,n){let{name:e,type:t,direction:r}=n,i=e[0].toUpperCase()+e.slice(1,-1),o="find"+i;a.prototype[o]=function(d,u){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return;d=""+d;let f=this._nodes.get(d);if(typeof f>"u")throw new B(`Graph.${o}: could not find the "${d}" node in the graph.`);return ur(!0,t==="mixed"?this.type:t,r,f,u)};let s="some"+i;a.prototype[s]=function(d,u){return!!this[o](d,u)};let l="every"+i;a.prototype[l]=function(d,u){return!this[o](d,(g,h)=>!u(g,h))}}function Iu(a,n){let{name:e,type:t,direction:r}=n,i=e.slice(0,-1)+"Entries";a.prototype[i]=function(o){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return kt();o=""+o;let s=this._nodes.get(o);if(typeof s>"u")throw new B(`Graph.${i}: could not find the "${o}" node in the graph.`);return Lu(t==="mixed"?this.type:t,r,s)}}function Mu(a){Du.forEach(n=>{Cu(a,n),Pu(a,n),Fu(a,n),Iu(a,n)})}function $n(a,n,e,t,r){let i=t._nodes.values(),o=t.type,s,l,d,u,f,g,h;for(;s=i.next(),s.done!==!0;){let p=!1;if(l=s.value,o!=="undirected"){u=l.out;for(d in u){f=u[d];do{if(g=f.target,p=!0,h=r(l.key,g.key,l.attributes,g.attributes,f.key,f.attributes,f.undirected),a&&h)return f;f=f.next}while(f)}}if(o!=="directed"){u=l.undirected;for(d in u)if(!(n&&l.key>d)){f=u[d];do{if(g=f.target,g.key!==d&&(g=f.source),p=!0,h=r(l.key,g.key,l.attributes,g.attributes,f.key,f.attributes,f.undirected),a&&h)return f;f=f.next}while(f)}}if(e&&!p&&(h=r(l.key,null,l.attributes,null,null,null,null),a&&h))return null}}function Nu(a,n){let e={key:a};return mo(n.attributes)||(e.attributes=be({},n.attributes)),e}function Gu(a,n,e){let t={key:n,source:e.source.key,target:e.target.key};return mo(e.attributes)||(t.attributes=be({},e.attributes)),a==="mixed"&&e.undirected&&(t.undirected=!0),t}function zu(a){if(!_e(a))throw new U('Graph.import: invalid serialized node. A serialized node should be a plain object with at least a "key" property.');if(!("key"in a))throw new U("Graph.import: serialized node is missing its key.");if("attributes"in a&&(!_e(a.attributes)||a.attributes===null))throw new U("Graph.import: invalid attributes. Attributes should be a plain object, null or omitted.")}function Ou(a){if(!_e(a))throw new U('Graph.import: invalid serialized edge. A serialized edge should be a plain object with at least a "source" & "target" property.');if(!("source"in a))throw new U("Graph.import: serialized edge is missing its source.");if(!("target"in a))throw new U("Graph.import: serialized edge is missing its target.");if("attributes"in a&&(!_e(a.attributes)||a.attributes===null))throw new U("Graph.import: invalid attributes. Attributes should be a plain object, null or omitted.");if("undirected"in a&&typeof a.undirected!="boolean")throw new U("Graph.import: invalid undirectedness information. Undirected should be boolean or omitted.")}var Wu=Ud(),Bu=new Set(["directed","undirected","mixed"]),go=new Set(["domain","_events","_eventsCount","_maxListeners"]),Uu=[{name:a=>`${a}Edge`,generateKey:!0},{name:a=>`${a}DirectedEdge`,generateKey:!0,type:"directed"},{name:a=>`${a}UndirectedEdge`,generateKey:!0,type:"undirected"},{name:a=>`${a}EdgeWithKey`},{name:a=>`${a}DirectedEdgeWithKey`,type:"directed"},{name:a=>`${a}UndirectedEdgeWithKey`,type:"undirected"}],Hu={allowSelfLoops:!0,multi:!1,type:"mixed"};function $u(a,n,e){if(e&&!_e(e))throw new U(`Graph.addNode: invalid attributes. Expecting an object but got "${e}"`);if(n=""+n,e=e||{},a._nodes.has(n))throw new K(`Graph.addNode: the "${n}" node already exist in the graph.`);let t=new a.NodeDataClass(n,e);return a._nodes.set(n,t),a.emit("nodeAdded",{key:n,attributes:e}),t}function po(a,n,e){let t=new a.NodeDataClass(n,e);return a._nodes.set(n,t),a.emit("nodeAdded",{key:n,attributes:e}),t}function wo(a,n,e,t,r,i,o,s){if(!t&&a.type==="undirected")throw new K(`Graph.${n}: you cannot add a directed edge to an undirected graph. Use the #.addEdge or #.addUndirectedEdge instead.`);if(t&&a.type==="directed")throw new K(`Graph.${n}: you cannot add an undirected edge to a directed graph. Use the #.addEdge or #.addDirectedEdge instead.`);if(s&&!_e(s))throw new U(`Graph.${n}: invalid attributes. Expecting an object but got "${s}"`);if(i=""+i,o=""+o,s=s||{},!a.allowSelfLoops&&i===o)throw new K(`Graph.${n}: source & target are the same ("${i}"), thus creating a loop explicitly forbidden by this graph 'allowSelfLoops' option set to false.`);let l=a._nodes.get(i),d=a._nodes.get(o);if(!l)throw new B(`Graph.${n}: source node "${i}" not found.`);if(!d)throw new B(`Graph.${n}: target node "${o}" not found.`);let u={key:null,undirected:t,source:i,target:o,attributes:s};if(e)r=a._edgeKeyGenerator();else if(r=""+r,a._edges.has(r))throw new K(`Graph.${n}: the "${r}" edge already exists in the graph.`);if(!a.multi&&(t?typeof l.undirected[o]<"u":typeof l.out[o]<"u"))throw new K(`Graph.${n}: an edge linking "${i}" to "${o}" already exists. If you really want to add multiple edges linking those nodes, you should create a multi graph by using the 'multi' option.`);let f=new Lt(t,r,l,d,s);a._edges.set(r,f);let g=i===o;return t?(l.undirectedDegree++,d.undirectedDegree++,g&&(l.undirectedLoops++,a._undirectedSelfLoopCount++)):(l.outDegree++,d.inDegree++,g&&(l.directedLoops++,a._directedSelfLoopCount++)),a.multi?f.attachMulti():f.attach(),t?a._undirectedSize++:a._directedSize++,u.key=r,a.emit("edgeAdded",u),r}function Vu(a,n,e,t,r,i,o,s,l){if(!t&&a.type==="undirected")throw new K(`Graph.${n}: you cannot merge/update a directed edge to an undirected graph. Use the #.mergeEdge/#.updateEdge or #.addUndirectedEdge instead.`);if(t&&a.type==="directed")throw new K(`Graph.${n}: you cannot merge/update an undirected edge to a directed graph. Use the #.mergeEdge/#.updateEdge or #.addDirectedEdge instead.`);if(s){if(l){if(typeof s!="function")throw new U(`Graph.${n}: invalid updater function. Expecting a function but got "${s}"`)}else if(!_e(s))throw new U(`Graph.${n}: invalid attributes. Expecting an object but got "${s}"`)}i=""+i,o=""+o;let d;if(l&&(d=s,s=void 0),!a.allowSelfLoops&&i===o)throw new K(`Graph.${n}: source & target are the same ("${i}"), thus creating a loop explicitly forbidden by this graph 'allowSelfLoops' option set to false.`);let u=a._nodes.get(i),f=a._nodes.get(o),g,h;if(!e&&(g=a._edges.get(r),g)){if((g.source.key!==i||g.target.key!==o)&&(!t||g.source.key!==o||g.target.key!==i))throw new K(`Graph.${n}: inconsistency detected when attempting to merge the "${r}" edge with "${i}" source & "${o}" target vs. ("${g.source.key}", "${g.target.key}").`);h=g}if(!h&&!a.multi&&u&&(h=t?u.undirected[o]:u.out[o]),h){let b=[h.key,!1,!1,!1];if(l?!d:!s)return b;if(l){let _=h.attributes;h.attributes=d(_),a.emit("edgeAttributesUpdated",{type:"replace",key:h.key,attributes:h.attributes})}else be(h.attributes,s),a.emit("edgeAttributesUpdated",{type:"merge",key:h.key,attributes:h.attributes,data:s});return b}s=s||{},l&&d&&(s=d(s));let p={key:null,undirected:t,source:i,target:o,attributes:s};if(e)r=a._edgeKeyGenerator();else if(r=""+r,a._edges.has(r))throw new K(`Graph.${n}: the "${r}" edge already exists in the graph.`);let y=!1,m=!1;u||(u=po(a,i,{}),y=!0,i===o&&(f=u,m=!0)),f||(f=po(a,o,{}),m=!0),g=new Lt(t,r,u,f,s),a._edges.set(r,g);let v=i===o;return t?(u.undirectedDegree++,f.undirectedDegree++,v&&(u.undirectedLoops++,a._undirectedSelfLoopCount++)):(u.outDegree++,f.inDegree++,v&&(u.directedLoops++,a._directedSelfLoopCount++)),a.multi?g.attachMulti():g.attach(),t?a._undirectedSize++:a._directedSize++,p.key=r,a.emit("edgeAdded",p),[r,!0,y,m]}function Dt(a,n){a._edges.delete(n.key);let{source:e,target:t,attributes:r}=n,i=n.undirected,o=e===t;i?(e.undirectedDegree--,t.undirectedDegree--,o&&(e.undirectedLoops--,a._undirectedSelfLoopCount--)):(e.outDegree--,t.inDegree--,o&&(e.directedLoops--,a._directedSelfLoopCount--)),a.multi?n.detachMulti():n.detach(),i?a._undirectedSize--:a._directedSize--,a.emit("edgeDropped",{key:n.key,attributes:r,source:e.key,target:t.key,undirected:i})}var ie=class a extends vo.EventEmitter{constructor(n){if(super(),n=be({},Hu,n),typeof n.multi!="boolean")throw new U(`Graph.constructor: invalid 'multi' option. Expecting a boolean but got "${n.multi}".`);if(!Bu.has(n.type))throw new U(`Graph.constructor: invalid 'type' option. Should be one of "mixed", "directed" or "undirected" but got "${n.type}".`);if(typeof n.allowSelfLoops!="boolean")throw new U(`Graph.constructor: invalid 'allowSelfLoops' option. Expecting a boolean but got "${n.allowSelfLoops}".`);let e=n.type==="mixed"?bo:n.type==="directed"?yo:_o;Ie(this,"NodeDataClass",e);let t="geid_"+Wu()+"_",r=0,i=()=>{let o;do o=t+r++;while(this._edges.has(o));return o};Ie(this,"_attributes",{}),Ie(this,"_nodes",new Map),Ie(this,"_edges",new Map),Ie(this,"_directedSize",0),Ie(this,"_undirectedSize",0),Ie(this,"_directedSelfLoopCount",0),Ie(this,"_undirectedSelfLoopCount",0),Ie(this,"_edgeKeyGenerator",i),Ie(this,"_options",n),go.forEach(o=>Ie(this,o,this[o])),Be(this,"order",()=>this._nodes.size),Be(this,"size",()=>this._edges.size),Be(this,"directedSize",()=>this._directedSize),Be(this,"undirectedSize",()=>this._undirectedSize),Be(this,"selfLoopCount",()=>this._directedSelfLoopCount+this._undirectedSelfLoopCount),Be(this,"directedSelfLoopCount",()=>this._directedSelfLoopCount),Be(this,"undirectedSelfLoopCount",()=>this._undirectedSelfLoopCount),Be(this,"multi",this._options.multi),Be(this,"type",this._options.type),Be(this,"allowSelfLoops",this._options.allowSelfLoops),Be(this,"implementation",()=>"graphology")}_resetInstanceCounters(){this._directedSize=0,this._undirectedSize=0,this._directedSelfLoopCount=0,this._undirectedSelfLoopCount=0}hasNode(n){return this._nodes.has(""+n)}hasDirectedEdge(n,e){if(this.type==="undirected")return!1;if(arguments.length===1){let t=""+n,r=this._edges.get(t);return!!r&&!r.undirected}else if(arguments.length===2){n=""+n,e=""+e;let t=this._nodes.get(n);return t?t.out.hasOwnProperty(e):!1}throw new U(`Graph.hasDirectedEdge: invalid arity (${arguments.length}, instead of 1 or 2). You can either ask for an edge id or for the existence of an edge between a source & a target.`)}hasUndirectedEdge(n,e){if(this.type==="directed")return!1;if(arguments.length===1){let t=""+n,r=this._edges.get(t);return!!r&&r.undirected}else if(arguments.length===2){n=""+n,e=""+e;let t=this._nodes.get(n);return t?t.undirected.hasOwnProperty(e):!1}throw new U(`Graph.hasDirectedEdge: invalid arity (${arguments.length}, instead of 1 or 2). You can either ask for an edge id or for the existence of an edge between a source & a target.`)}hasEdge(n,e){if(arguments.length===1){let t=""+n;return this._edges.has(t)}else if(arguments.length===2){n=""+n,e=""+e;let t=this._nodes.get(n);return t?typeof t.out<"u"&&t.out.hasOwnProperty(e)||typeof t.undirected<"u"&&t.undirected.hasOwnProperty(e):!1}throw new U(`Graph.hasEdge: invalid arity (${arguments.length}, instead of 1 or 2). You can either ask for an edge id or for the existence of an edge between a source & a target.`)}directedEdge(n,e){if(this.type==="undirected")return;if(n=""+n,e=""+e,this.multi)throw new K("Graph.directedEdge: this method is irrelevant with multigraphs since there might be multiple edges between source & target. See #.directedEdges instead.");let t=this._nodes.get(n);if(!t)throw new B(`Graph.directedEdge: could not find the "${n}" source node in the graph.`);if(!this._nodes.has(e))throw new B(`Graph.directedEdge: could not find the "${e}" target node in the graph.`);let r=t.out&&t.out[e]||void 0;if(r)return r.key}undirectedEdge(n,e){if(this.type==="directed")return;if(n=""+n,e=""+e,this.multi)throw new K("Graph.undirectedEdge: this method is irrelevant with multigraphs since there might be multiple edges between source & target. See #.undirectedEdges instead.");let t=this._nodes.get(n);if(!t)throw new B(`Graph.undirectedEdge: could not find the "${n}" source node in the graph.`);if(!this._nodes.has(e))throw new B(`Graph.undirectedEdge: could not find the "${e}" target node in the graph.`);let r=t.undirected&&t.undirected[e]||void 0;if(r)return r.key}edge(n,e){if(this.multi)throw new K("Graph.edge: this method is irrelevant with multigraphs since there might be multiple edges between source & target. See #.edges instead.");n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.edge: could not find the "${n}" source node in the graph.`);if(!this._nodes.has(e))throw new B(`Graph.edge: could not find the "${e}" target node in the graph.`);let r=t.out&&t.out[e]||t.undirected&&t.undirected[e]||void 0;if(r)return r.key}areDirectedNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areDirectedNeighbors: could not find the "${n}" node in the graph.`);return this.type==="undirected"?!1:e in t.in||e in t.out}areOutNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areOutNeighbors: could not find the "${n}" node in the graph.`);return this.type==="undirected"?!1:e in t.out}areInNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areInNeighbors: could not find the "${n}" node in the graph.`);return this.type==="undirected"?!1:e in t.in}areUndirectedNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areUndirectedNeighbors: could not find the "${n}" node in the graph.`);return this.type==="directed"?!1:e in t.undirected}areNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areNeighbors: could not find the "${n}" node in the graph.`);return this.type!=="undirected"&&(e in t.in||e in t.out)||this.type!=="directed"&&e in t.undirected}areInboundNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areInboundNeighbors: could not find the "${n}" node in the graph.`);return this.type!=="undirected"&&e in t.in||this.type!=="directed"&&e in t.undirected}areOutboundNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areOutboundNeighbors: could not find the "${n}" node in the graph.`);return this.type!=="undirected"&&e in t.out||this.type!=="directed"&&e in t.undirected}inDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.inDegree: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.inDegree}outDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.outDegree: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.outDegree}directedDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.directedDegree: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.inDegree+e.outDegree}undirectedDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.undirectedDegree: could not find the "${n}" node in the graph.`);return this.type==="directed"?0:e.undirectedDegree}inboundDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.inboundDegree: could not find the "${n}" node in the graph.`);let t=0;return this.type!=="directed"&&(t+=e.undirectedDegree),this.type!=="undirected"&&(t+=e.inDegree),t}outboundDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.outboundDegree: could not find the "${n}" node in the graph.`);let t=0;return this.type!=="directed"&&(t+=e.undirectedDegree),this.type!=="undirected"&&(t+=e.outDegree),t}degree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.degree: could not find the "${n}" node in the graph.`);let t=0;return this.type!=="directed"&&(t+=e.undirectedDegree),this.type!=="undirected"&&(t+=e.inDegree+e.outDegree),t}inDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.inDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.inDegree-e.directedLoops}outDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.outDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.outDegree-e.directedLoops}directedDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.directedDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.inDegree+e.outDegree-e.directedLoops*2}undirectedDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.undirectedDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);return this.type==="directed"?0:e.undirectedDegree-e.undirectedLoops*2}inboundDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.inboundDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);let t=0,r=0;return this.type!=="directed"&&(t+=e.undirectedDegree,r+=e.undirectedLoops*2),this.type!=="undirected"&&(t+=e.inDegree,r+=e.directedLoops),t-r}outboundDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.outboundDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);let t=0,r=0;return this.type!=="directed"&&(t+=e.undirectedDegree,r+=e.undirectedLoops*2),this.type!=="undirected"&&(t+=e.outDegree,r+=e.directedLoops),t-r}degreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.degreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);let t=0,r=0;return this.type!=="directed"&&(t+=e.undirectedDegree,r+=e.undirectedLoops*2),this.type!=="undirected"&&(t+=e.inDegree+e.outDegree,r+=e.directedLoops*2),t-r}source(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.source: could not find the "${n}" edge in the graph.`);return e.source.key}target(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.target: could not find the "${n}" edge in the graph.`);return e.target.key}extremities(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.extremities: could not find the "${n}" edge in the graph.`);return[e.source.key,e.target.key]}opposite(n,e){n=""+n,e=""+e;let t=this._edges.get(e);if(!t)throw new B(`Graph.opposite: could not find the "${e}" edge in the graph.`);let r=t.source.key,i=t.target.key;if(n===r)return i;if(n===i)return r;throw new B(`Graph.opposite: the "${n}" node is not attached to the "${e}" edge (${r}, ${i}).`)}hasExtremity(n,e){n=""+n,e=""+e;let t=this._edges.get(n);if(!t)throw new B(`Graph.hasExtremity: could not find the "${n}" edge in the graph.`);return t.source.key===e||t.target.key===e}isUndirected(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.isUndirected: could not find the "${n}" edge in the graph.`);return e.undirected}isDirected(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.isDirected: could not find the "${n}" edge in the graph.`);return!e.undirected}isSelfLoop(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.isSelfLoop: could not find the "${n}" edge in the graph.`);return e.source===e.target}addNode(n,e){return $u(this,n,e).key}mergeNode(n,e){if(e&&!_e(e))throw new U(`Graph.mergeNode: invalid attributes. Expecting an object but got "${e}"`);n=""+n,e=e||{};let t=this._nodes.get(n);return t?(e&&(be(t.attributes,e),this.emit("nodeAttributesUpdated",{type:"merge",key:n,attributes:t.attributes,data:e})),[n,!1]):(t=new this.NodeDataClass(n,e),this._nodes.set(n,t),this.emit("nodeAdded",{key:n,attributes:e}),[n,!0])}updateNode(n,e){if(e&&typeof e!="function")throw new U(`Graph.updateNode: invalid updater function. Expecting a function but got "${e}"`);n=""+n;let t=this._nodes.get(n);if(t){if(e){let i=t.attributes;t.attributes=e(i),this.emit("nodeAttributesUpdated",{type:"replace",key:n,attributes:t.attributes})}return[n,!1]}let r=e?e({}):{};return t=new this.NodeDataClass(n,r),this._nodes.set(n,t),this.emit("nodeAdded",{key:n,attributes:r}),[n,!0]}dropNode(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.dropNode: could not find the "${n}" node in the graph.`);let t;if(this.type!=="undirected"){for(let r in e.out){t=e.out[r];do Dt(this,t),t=t.next;while(t)}for(let r in e.in){t=e.in[r];do Dt(this,t),t=t.next;while(t)}}if(this.type!=="directed")for(let r in e.undirected){t=e.undirected[r];do Dt(this,t),t=t.next;while(t)}this._nodes.delete(n),this.emit("nodeDropped",{key:n,attributes:e.attributes})}dropEdge(n){let e;if(arguments.length>1){let t=""+arguments[0],r=""+arguments[1];if(e=Me(this,t,r,this.type),!e)throw new B(`Graph.dropEdge: could not find the "${t}" -> "${r}" edge in the graph.`)}else if(n=""+n,e=this._edges.get(n),!e)throw new B(`Graph.dropEdge: could not find the "${n}" edge in the graph.`);return Dt(this,e),this}dropDirectedEdge(n,e){if(arguments.length<2)throw new K("Graph.dropDirectedEdge: it does not make sense to try and drop a directed edge by key. What if the edge with this key is undirected? Use #.dropEdge for this purpose instead.");if(this.multi)throw new K("Graph.dropDirectedEdge: cannot use a {source,target} combo when dropping an edge in a MultiGraph since we cannot infer the one you want to delete as there could be multiple ones.");n=""+n,e=""+e;let t=Me(this,n,e,"directed");if(!t)throw new B(`Graph.dropDirectedEdge: could not find a "${n}" -> "${e}" edge in the graph.`);return Dt(this,t),this}dropUndirectedEdge(n,e){if(arguments.length<2)throw new K("Graph.dropUndirectedEdge: it does not make sense to drop a directed edge by key. What if the edge with this key is undirected? Use #.dropEdge for this purpose instead.");if(this.multi)throw new K("Graph.dropUndirectedEdge: cannot use a {source,target} combo when dropping an edge in a MultiGraph since we cannot infer the one you want to delete as there could be multiple ones.");let t=Me(this,n,e,"undirected");if(!t)throw new B(`Graph.dropUndirectedEdge: could not find a "${n}" -> "${e}" edge in the graph.`);return Dt(this,t),this}clear(){this._edges.clear(),this._nodes.clear(),this._resetInstanceCounters(),this.emit("cleared")}clearEdges(){let n=this._nodes.values(),e;for(;e=n.next(),e.done!==!0;)e.value.clear();this._edges.clear(),this._resetInstanceCounters(),this.emit("edgesCleared")}getAttribute(n){return this._attributes[n]}getAttributes(){return this._attributes}hasAttribute(n){return this._attributes.hasOwnProperty(n)}setAttribute(n,e){return this._attributes[n]=e,this.emit("attributesUpdated",{type:"set",attributes:this._attributes,name:n}),this}updateAttribute(n,e){if(typeof e!="function")throw new U("Graph.updateAttribute: updater should be a function.");let t=this._attributes[n];return this._attributes[n]=e(t),this.emit("attributesUpdated",{type:"set",attributes:this._attributes,name:n}),this}removeAttribute(n){return delete this._attributes[n],this.emit("attributesUpdated",{type:"remove",attributes:this._attributes,name:n}),this}replaceAttributes(n){if(!_e(n))throw new U("Graph.replaceAttributes: provided attributes are not a plain object.");return this._attributes=n,this.emit("attributesUpdated",{type:"replace",attributes:this._attributes}),this}mergeAttributes(n){if(!_e(n))throw new U("Graph.mergeAttributes: provided attributes are not a plain object.");return be(this._attributes,n),this.emit("attributesUpdated",{type:"merge",attributes:this._attributes,data:n}),this}updateAttributes(n){if(typeof n!="function")throw new U("Graph.updateAttributes: provided updater is not a function.");return this._attributes=n(this._attributes),this.emit("attributesUpdated",{type:"update",attributes:this._attributes}),this}updateEachNodeAttributes(n,e){if(typeof n!="function")throw new U("Graph.updateEachNodeAttributes: expecting an updater function.");if(e&&!fo(e))throw new U("Graph.updateEachNodeAttributes: invalid hints. Expecting an object having the following shape: {attributes?: [string]}");let t=this._nodes.values(),r,i;for(;r=t.next(),r.done!==!0;)i=r.value,i.attributes=n(i.key,i.attributes);this.emit("eachNodeAttributesUpdated",{hints:e||null})}updateEachEdgeAttributes(n,e){if(typeof n!="function")throw new U("Graph.updateEachEdgeAttributes: expecting an updater function.");if(e&&!fo(e))throw new U("Graph.updateEachEdgeAttributes: invalid hints. Expecting an object having the following shape: {attributes?: [string]}");let t=this._edges.values(),r,i,o,s;for(;r=t.next(),r.done!==!0;)i=r.value,o=i.source,s=i.target,i.attributes=n(i.key,i.attributes,o.key,s.key,o.attributes,s.attributes,i.undirected);this.emit("eachEdgeAttributesUpdated",{hints:e||null})}forEachAdjacencyEntry(n){if(typeof n!="function")throw new U("Graph.forEachAdjacencyEntry: expecting a callback.");$n(!1,!1,!1,this,n)}forEachAdjacencyEntryWithOrphans(n){if(typeof n!="function")throw new U("Graph.forEachAdjacencyEntryWithOrphans: expecting a callback.");$n(!1,!1,!0,this,n)}forEachAssymetricAdjacencyEntry(n){if(typeof n!="function")throw new U("Graph.forEachAssymetricAdjacencyEntry: expecting a callback.");$n(!1,!0,!1,this,n)}forEachAssymetricAdjacencyEntryWithOrphans(n){if(typeof n!="function")throw new U("Graph.forEachAssymetricAdjacencyEntryWithOrphans: expecting a callback.");$n(!1,!0,!0,this,n)}nodes(){return Array.from(this._nodes.keys())}forEachNode(n){if(typeof n!="function")throw new U("Graph.forEachNode: expecting a callback.");let e=this._nodes.values(),t,r;for(;t=e.next(),t.done!==!0;)r=t.value,n(r.key,r.attributes)}findNode(n){if(typeof n!="function")throw new U("Graph.findNode: expecting a callback.");let e=this._nodes.values(),t,r;for(;t=e.next(),t.done!==!0;)if(r=t.value,n(r.key,r.attributes))return r.key}mapNodes(n){if(typeof n!="function")throw new U("Graph.mapNode: expecting a callback.");let e=this._nodes.values(),t,r,i=new Array(this.order),o=0;for(;t=e.next(),t.done!==!0;)r=t.value,i[o++]=n(r.key,r.attributes);return i}someNode(n){if(typeof n!="function")throw new U("Graph.someNode: expecting a callback.");let e=this._nodes.values(),t,r;for(;t=e.next(),t.done!==!0;)if(r=t.value,n(r.key,r.attributes))return!0;return!1}everyNode(n){if(typeof n!="function")throw new U("Graph.everyNode: expecting a callback.");let e=this._nodes.values(),t,r;for(;t=e.next(),t.done!==!0;)if(r=t.value,!n(r.key,r.attributes))return!1;return!0}filterNodes(n){if(typeof n!="function")throw new U("Graph.filterNodes: expecting a callback.");let e=this._nodes.values(),t,r,i=[];for(;t=e.next(),t.done!==!0;)r=t.value,n(r.key,r.attributes)&&i.push(r.key);return i}reduceNodes(n,e){if(typeof n!="function")throw new U("Graph.reduceNodes: expecting a callback.");if(arguments.length<2)throw new U("Graph.reduceNodes: missing initial value. You must provide it because the callback takes more than one argument and we cannot infer the initial value from the first iteration, as you could with a simple array.");let t=e,r=this._nodes.values(),i,o;for(;i=r.next(),i.done!==!0;)o=i.value,t=n(t,o.key,o.attributes);return t}nodeEntries(){let n=this._nodes.values();return{[Symbol.iterator](){return this},next(){let e=n.next();if(e.done)return e;let t=e.value;return{value:{node:t.key,attributes:t.attributes},done:!1}}}}export(){let n=new Array(this._nodes.size),e=0;this._nodes.forEach((r,i)=>{n[e++]=Nu(i,r)});let t=new Array(this._edges.size);return e=0,this._edges.forEach((r,i)=>{t[e++]=Gu(this.type,i,r)}),{options:{type:this.type,multi:this.multi,allowSelfLoops:this.allowSelfLoops},attributes:this.getAttributes(),nodes:n,edges:t}}import(n,e=!1){if(n instanceof a)return n.forEachNode((l,d)=>{e?this.mergeNode(l,d):this.addNode(l,d)}),n.forEachEdge((l,d,u,f,g,h,p)=>{e?p?this.mergeUndirectedEdgeWithKey(l,u,f,d):this.mergeDirectedEdgeWithKey(l,u,f,d):p?this.addUndirectedEdgeWithKey(l,u,f,d):this.addDirectedEdgeWithKey(l,u,f,d)}),this;if(!_e(n))throw new U("Graph.import: invalid argument. Expecting a serialized graph or, alternatively, a Graph instance.");if(n.attributes){if(!_e(n.attributes))throw new U("Graph.import: invalid attributes. Expecting a plain object.");e?this.mergeAttributes(n.attributes):this.replaceAttributes(n.attributes)}let t,r,i,o,s;if(n.nodes){if(i=n.nodes,!Array.isArray(i))throw new U("Graph.import: invalid nodes. Expecting an array.");for(t=0,r=i.length;t<r;t++){o=i[t],zu(o);let{key:l,attributes:d}=o;e?this.mergeNode(l,d):this.addNode(l,d)}}if(n.edges){let l=!1;if(this.type==="undirected"&&(l=!0),i=n.edges,!Array.isArray(i))throw new U("Graph.import: invalid edges. Expecting an array.");for(t=0,r=i.length;t<r;t++){s=i[t],Ou(s);let{source:d,target:u,attributes:f,undirected:g=l}=s,h;"key"in s?(h=e?g?this.mergeUndirectedEdgeWithKey:this.mergeDirectedEdgeWithKey:g?this.addUndirectedEdgeWithKey:this.addDirectedEdgeWithKey,h.call(this,s.key,d,u,f)):(h=e?g?this.mergeUndirectedEdge:this.mergeDirectedEdge:g?this.addUndirectedEdge:this.addDirectedEdge,h.call(this,d,u,f))}}return this}nullCopy(n){let e=new a(be({},this._options,n));return e.replaceAttributes(be({},this.getAttributes())),e}emptyCopy(n){let e=this.nullCopy(n);return this._nodes.forEach((t,r)=>{let i=be({},t.attributes);t=new e.NodeDataClass(r,i),e._nodes.set(r,t)}),e}copy(n){if(n=n||{},typeof n.type=="string"&&n.type!==this.type&&n.type!=="mixed")throw new K(`Graph.copy: cannot create an incompatible copy from "${this.type}" type to "${n.type}" because this would mean losing information about the current graph.`);if(typeof n.multi=="boolean"&&n.multi!==this.multi&&n.multi!==!0)throw new K("Graph.copy: cannot create an incompatible copy by downgrading a multi graph to a simple one because this would mean losing information about the current graph.");if(typeof n.allowSelfLoops=="boolean"&&n.allowSelfLoops!==this.allowSelfLoops&&n.allowSelfLoops!==!0)throw new K("Graph.copy: cannot create an incompatible copy from a graph allowing self loops to one that does not because this would mean losing information about the current graph.");let e=this.emptyCopy(n),t=this._edges.values(),r,i;for(;r=t.next(),r.done!==!0;)i=r.value,wo(e,"copy",!1,i.undirected,i.key,i.source.key,i.target.key,be({},i.attributes));return e}toJSON(){return this.export()}toString(){return"[object Graph]"}inspect(){let n={};this._nodes.forEach((i,o)=>{n[o]=i.attributes});let e={},t={};this._edges.forEach((i,o)=>{let s=i.undirected?"--":"->",l="",d=i.source.key,u=i.target.key,f;i.undirected&&d>u&&(f=d,d=u,u=f);let g=`(${d})${s}(${u})`;o.startsWith("geid_")?this.multi&&(typeof t[g]>"u"?t[g]=0:t[g]++,l+=`${t[g]}. `):l+=`[${o}]: `,l+=g,e[l]=i.attributes});let r={};for(let i in this)this.hasOwnProperty(i)&&!go.has(i)&&typeof this[i]!="function"&&typeof i!="symbol"&&(r[i]=this[i]);return r.attributes=this._attributes,r.nodes=n,r.edges=e,Ie(r,"constructor",this.constructor),r}};typeof Symbol<"u"&&(ie.prototype[Symbol.for("nodejs.util.inspect.custom")]=ie.prototype.inspect);Uu.forEach(a=>{["add","merge","update"].forEach(n=>{let e=a.name(n),t=n==="add"?wo:Vu;a.generateKey?ie.prototype[e]=function(r,i,o){return t(this,e,!0,(a.type||this.type)==="undirected",null,r,i,o,n==="update")}:ie.prototype[e]=function(r,i,o,s){return t(this,e,!1,(a.type||this.type)==="undirected",r,i,o,s,n==="update")}})});eu(ie);cu(ie);Ru(ie);Mu(ie);var Vn=class extends ie{constructor(n){let e=be({type:"directed"},n);if("multi"in e&&e.multi!==!1)throw new U("DirectedGraph.from: inconsistent indication that the graph should be multi in given options!");if(e.type!=="directed")throw new U('DirectedGraph.from: inconsistent "'+e.type+'" type in given options!');super(e)}},jn=class extends ie{constructor(n){let e=be({type:"undirected"},n);if("multi"in e&&e.multi!==!1)throw new U("UndirectedGraph.from: inconsistent indication that the graph should be multi in given options!");if(e.type!=="undirected")throw new U('UndirectedGraph.from: inconsistent "'+e.type+'" type in given options!');super(e)}},Xn=class extends ie{constructor(n){let e=be({multi:!0},n);if("multi"in e&&e.multi!==!0)throw new U("MultiGraph.from: inconsistent indication that the graph should be simple in given options!");super(e)}},qn=class extends ie{constructor(n){let e=be({type:"directed",multi:!0},n);if("multi"in e&&e.multi!==!0)throw new U("MultiDirectedGraph.from: inconsistent indication that the graph should be simple in given options!");if(e.type!=="directed")throw new U('MultiDirectedGraph.from: inconsistent "'+e.type+'" type in given options!');super(e)}},Kn=class extends ie{constructor(n){let e=be({type:"undirected",multi:!0},n);if("multi"in e&&e.multi!==!0)throw new U("MultiUndirectedGraph.from: inconsistent indication that the graph should be simple in given options!");if(e.type!=="undirected")throw new U('MultiUndirectedGraph.from: inconsistent "'+e.type+'" type in given options!');super(e)}};function Ct(a){a.from=function(n,e){let t=be({},n.options,e),r=new a(t);return r.import(n),r}}Ct(ie);Ct(Vn);Ct(jn);Ct(Xn);Ct(qn);Ct(Kn);ie.Graph=ie;ie.DirectedGraph=Vn;ie.UndirectedGraph=jn;ie.MultiGraph=Xn;ie.MultiDirectedGraph=qn;ie.MultiUndirectedGraph=Kn;ie.InvalidArgumentsGraphError=U;ie.NotFoundGraphError=B;ie.UsageGraphError=K;function Jn(a,n){(n==null||n>a.length)&&(n=a.length);for(var e=0,t=Array(n);e<n;e++)t[e]=a[e];return t}function ea(a,n){if(a){if(typeof a=="string")return Jn(a,n);var e={}.toString.call(a).slice(8,-1);return e==="Object"&&a.constructor&&(e=a.constructor.name),e==="Map"||e==="Set"?Array.from(a):e==="Arguments"||/^(?:Ui|I)nt(?:8|16|32)(?:Clamped)?Array$/.test(e)?Jn(a,n):void 0}}function ju(a){if(Array.isArray(a))return a}function Xu(a,n){var e=a==null?null:typeof Symbol<"u"&&a[Symbol.iterator]||a["@@iterator"];if(e!=null){var t,r,i,o,s=[],l=!0,d=!1;try{if(i=(e=e.call(a)).next,n===0){if(Object(e)!==e)return;l=!1}else for(;!(l=(t=i.call(e)).done)&&(s.push(t.value),s.length!==n);l=!0);}catch(u){d=!0,r=u}finally{try{if(!l&&e.return!=null&&(o=e.return(),Object(o)!==o))return}finally{if(d)throw r}}return s}}function qu(){throw new TypeError(`Invalid attempt to destructure non-iterable instance.
In order to be iterable, non-array objects must have a [Symbol.iterator]() method.`)}function ne(a,n){return ju(a)||Xu(a,n)||ea(a,n)||qu()}function O(a,n){var e=typeof Symbol<"u"&&a[Symbol.iterator]||a["@@iterator"];if(!e){if(Array.isArray(a)||(e=ea(a))||n&&a&&typeof a.length=="number"){e&&(a=e);var t=0,r=function(){};return{s:r,n:function(){return t>=a.length?{done:!0}:{done:!1,value:a[t++]}},e:function(l){throw l},f:r}}throw new TypeError(`Invalid attempt to iterate non-iterable instance.
In order to be iterable, non-array objects must have a [Symbol.iterator]() method.`)}var i,o=!0,s=!1;return{s:function(){e=e.call(a)},n:function(){var l=e.next();return o=l.done,l},e:function(l){s=!0,i=l},f:function(){try{o||e.return==null||e.return()}finally{if(s)throw i}}}}function Ne(){return Float32Array.of(1,0,0,0,1,0,0,0,1)}function Zn(a,n,e){return a[0]=n,a[4]=typeof e=="number"?e:n,a}function Ao(a,n){var e=Math.sin(n),t=Math.cos(n);return a[0]=t,a[1]=e,a[3]=-e,a[4]=t,a}function Ro(a,n,e){return a[6]=n,a[7]=e,a}function nt(a,n){var e=a[0],t=a[1],r=a[2],i=a[3],o=a[4],s=a[5],l=a[6],d=a[7],u=a[8],f=n[0],g=n[1],h=n[2],p=n[3],y=n[4],m=n[5],v=n[6],b=n[7],_=n[8];return a[0]=f*e+g*i+h*l,a[1]=f*t+g*o+h*d,a[2]=f*r+g*s+h*u,a[3]=p*e+y*i+m*l,a[4]=p*t+y*o+m*d,a[5]=p*r+y*s+m*u,a[6]=v*e+b*i+_*l,a[7]=v*t+b*o+_*d,a[8]=v*r+b*s+_*u,a}function cr(a,n){var e=Math.cos(n),t=Math.sin(n);return{x:e*a.x+t*a.y,y:-t*a.x+e*a.y}}function Ft(a,n){var e=arguments.length>2&&arguments[2]!==void 0?arguments[2]:1,t=a[0],r=a[1],i=a[3],o=a[4],s=a[6],l=a[7],d=n.x,u=n.y;return{x:d*t+u*i+s*e,y:d*r+u*o+l*e}}function Ku(a,n){var e=a.height/a.width,t=n.height/n.width;return e<1&&t>1||e>1&&t<1?1:Math.min(Math.max(t,1/t),Math.max(1/e,e))}function at(a,n,e,t,r){var i=a.angle,o=a.ratio,s=a.x,l=a.y,d=n.width,u=n.height,f=Ne(),g=Math.min(d,u)-2*t,h=Ku(n,e);return r?(nt(f,Ro(Ne(),s,l)),nt(f,Zn(Ne(),o)),nt(f,Ao(Ne(),i)),nt(f,Zn(Ne(),d/g/2/h,u/g/2/h))):(nt(f,Zn(Ne(),2*(g/d)*h,2*(g/u)*h)),nt(f,Ao(Ne(),-i)),nt(f,Zn(Ne(),1/o)),nt(f,Ro(Ne(),-s,-l))),f}function Do(a,n,e){var t=Ft(a,{x:Math.cos(n.angle),y:Math.sin(n.angle)},0),r=t.x,i=t.y;return 1/Math.sqrt(Math.pow(r,2)+Math.pow(i,2))/e.width}function hr(a,n,e,t,r){var i=Math.floor(n/r*t),o=Math.floor(a.drawingBufferHeight/r-e/r*t);return[i,o]}var dn={black:"#000000",silver:"#C0C0C0",gray:"#808080",grey:"#808080",white:"#FFFFFF",maroon:"#800000",red:"#FF0000",purple:"#800080",fuchsia:"#FF00FF",green:"#008000",lime:"#00FF00",olive:"#808000",yellow:"#FFFF00",navy:"#000080",blue:"#0000FF",teal:"#008080",aqua:"#00FFFF",darkblue:"#00008B",mediumblue:"#0000CD",darkgreen:"#006400",darkcyan:"#008B8B",deepskyblue:"#00BFFF",darkturquoise:"#00CED1",mediumspringgreen:"#00FA9A",springgreen:"#00FF7F",cyan:"#00FFFF",midnightblue:"#191970",dodgerblue:"#1E90FF",lightseagreen:"#20B2AA",forestgreen:"#228B22",seagreen:"#2E8B57",darkslategray:"#2F4F4F",darkslategrey:"#2F4F4F",limegreen:"#32CD32",mediumseagreen:"#3CB371",turquoise:"#40E0D0",royalblue:"#4169E1",steelblue:"#4682B4",darkslateblue:"#483D8B",mediumturquoise:"#48D1CC",indigo:"#4B0082",darkolivegreen:"#556B2F",cadetblue:"#5F9EA0",cornflowerblue:"#6495ED",rebeccapurple:"#663399",mediumaquamarine:"#66CDAA",dimgray:"#696969",dimgrey:"#696969",slateblue:"#6A5ACD",olivedrab:"#6B8E23",slategray:"#708090",slategrey:"#708090",lightslategray:"#778899",lightslategrey:"#778899",mediumslateblue:"#7B68EE",lawngreen:"#7CFC00",chartreuse:"#7FFF00",aquamarine:"#7FFFD4",skyblue:"#87CEEB",lightskyblue:"#87CEFA",blueviolet:"#8A2BE2",darkred:"#8B0000",darkmagenta:"#8B008B",saddlebrown:"#8B4513",darkseagreen:"#8FBC8F",lightgreen:"#90EE90",mediumpurple:"#9370DB",darkviolet:"#9400D3",palegreen:"#98FB98",darkorchid:"#9932CC",yellowgreen:"#9ACD32",sienna:"#A0522D",brown:"#A52A2A",darkgray:"#A9A9A9",darkgrey:"#A9A9A9",lightblue:"#ADD8E6",greenyellow:"#ADFF2F",paleturquoise:"#AFEEEE",lightsteelblue:"#B0C4DE",powderblue:"#B0E0E6",firebrick:"#B22222",darkgoldenrod:"#B8860B",mediumorchid:"#BA55D3",rosybrown:"#BC8F8F",darkkhaki:"#BDB76B",mediumvioletred:"#C71585",indianred:"#CD5C5C",peru:"#CD853F",chocolate:"#D2691E",tan:"#D2B48C",lightgray:"#D3D3D3",lightgrey:"#D3D3D3",thistle:"#D8BFD8",orchid:"#DA70D6",goldenrod:"#DAA520",palevioletred:"#DB7093",crimson:"#DC143C",gainsboro:"#DCDCDC",plum:"#DDA0DD",burlywood:"#DEB887",lightcyan:"#E0FFFF",lavender:"#E6E6FA",darksalmon:"#E9967A",violet:"#EE82EE",palegoldenrod:"#EEE8AA",lightcoral:"#F08080",khaki:"#F0E68C",aliceblue:"#F0F8FF",honeydew:"#F0FFF0",azure:"#F0FFFF",sandybrown:"#F4A460",wheat:"#F5DEB3",beige:"#F5F5DC",whitesmoke:"#F5F5F5",mintcream:"#F5FFFA",ghostwhite:"#F8F8FF",salmon:"#FA8072",antiquewhite:"#FAEBD7",linen:"#FAF0E6",lightgoldenrodyellow:"#FAFAD2",oldlace:"#FDF5E6",magenta:"#FF00FF",deeppink:"#FF1493",orangered:"#FF4500",tomato:"#FF6347",hotpink:"#FF69B4",coral:"#FF7F50",darkorange:"#FF8C00",lightsalmon:"#FFA07A",orange:"#FFA500",lightpink:"#FFB6C1",pink:"#FFC0CB",gold:"#FFD700",peachpuff:"#FFDAB9",navajowhite:"#FFDEAD",moccasin:"#FFE4B5",bisque:"#FFE4C4",mistyrose:"#FFE4E1",blanchedalmond:"#FFEBCD",papayawhip:"#FFEFD5",lavenderblush:"#FFF0F5",seashell:"#FFF5EE",cornsilk:"#FFF8DC",lemonchiffon:"#FFFACD",floralwhite:"#FFFAF0",snow:"#FFFAFA",lightyellow:"#FFFFE0",ivory:"#FFFFF0"},ko=new Int8Array(4),Qn=new Int32Array(ko.buffer,0,1),Lo=new Float32Array(ko.buffer,0,1),Yu=/^\s*rgba?\s*\(/,Zu=/^\s*rgba?\s*\(\s*([0-9]*)\s*,\s*([0-9]*)\s*,\s*([0-9]*)(?:\s*,\s*(.*)?)?\)\s*$/;function ta(a){var n=0,e=0,t=0,r=1,i=a.toLowerCase();if(i==="transparent")return{r:0,g:0,b:0,a:0};if(i in dn)return ta(dn[i]);if(a[0]==="#")a.length===4?(n=parseInt(a.charAt(1)+a.charAt(1),16),e=parseInt(a.charAt(2)+a.charAt(2),16),t=parseInt(a.charAt(3)+a.charAt(3),16)):(n=parseInt(a.charAt(1)+a.charAt(2),16),e=parseInt(a.charAt(3)+a.charAt(4),16),t=parseInt(a.charAt(5)+a.charAt(6),16)),a.length===9&&(r=parseInt(a.charAt(7)+a.charAt(8),16)/255);else if(Yu.test(a)){var o=a.match(Zu);o&&(n=+o[1],e=+o[2],t=+o[3],o[4]&&(r=+o[4]))}return{r:n,g:e,b:t,a:r}}function Co(a){var n=arguments.length>1&&arguments[1]!==void 0?arguments[1]:!1,e=ta(a),t=e.r,r=e.g,i=e.b,o=e.a;return n?[t/255*o,r/255*o,i/255*o,o]:[t/255,r/255,i/255,o]}var Pt={};for(ln in dn)Pt[ln]=Ge(dn[ln]),Pt[dn[ln]]=Pt[ln];var ln;function Qu(a,n,e,t,r){return Qn[0]=t<<24|e<<16|n<<8|a,r&&(Qn[0]=Qn[0]&4278190079),Lo[0]}function Ge(a){if(a=a.toLowerCase(),typeof Pt[a]<"u")return Pt[a];var n=ta(a),e=n.r,t=n.g,r=n.b,i=n.a;i=i*255|0;var o=Qu(e,t,r,i,!0);return Pt[a]=o,o}function rt(a,n){Lo[0]=Ge(a);var e=Qn[0];n&&(e=e|16777216);var t=e&255,r=e>>8&255,i=e>>16&255,o=e>>24&255;return[t,r,i,o]}function It(a){var n=a>>>8&255,e=a>>>16&255,t=a>>>24&255,r=a&255;return(r<<24|t<<16|e<<8|n)>>>0}function fr(a,n,e,t){return(e<<24|n<<16|a<<8|t)>>>0}function Po(a,n,e,t,r,i){var o=hr(a,e,t,r,i),s=ne(o,2),l=s[0],d=s[1],u=new Uint8Array(4);a.bindFramebuffer(a.FRAMEBUFFER,n),a.readPixels(l,d,1,1,a.RGBA,a.UNSIGNED_BYTE,u);var f=ne(u,4),g=f[0],h=f[1],p=f[2],y=f[3];return[g,h,p,y]}function Fo(a){var n=ta(a),e=n.r,t=n.g,r=n.b,i=n.a,o=(e/255).toFixed(6),s=(t/255).toFixed(6),l=(r/255).toFixed(6),d=i.toFixed(6);return"vec4(".concat(o,", ").concat(s,", ").concat(l,", ").concat(d,")")}function Ju(a,n){if(typeof a!="object"||!a)return a;var e=a[Symbol.toPrimitive];if(e!==void 0){var t=e.call(a,n||"default");if(typeof t!="object")return t;throw new TypeError("@@toPrimitive must return a primitive value.")}return(n==="string"?String:Number)(a)}function No(a){var n=Ju(a,"string");return typeof n=="symbol"?n:n+""}function w(a,n,e){return(n=No(n))in a?Object.defineProperty(a,n,{value:e,enumerable:!0,configurable:!0,writable:!0}):a[n]=e,a}function Io(a,n){var e=Object.keys(a);if(Object.getOwnPropertySymbols){var t=Object.getOwnPropertySymbols(a);n&&(t=t.filter(function(r){return Object.getOwnPropertyDescriptor(a,r).enumerable})),e.push.apply(e,t)}return e}function W(a){for(var n=1;n<arguments.length;n++){var e=arguments[n]!=null?arguments[n]:{};n%2?Io(Object(e),!0).forEach(function(t){w(a,t,e[t])}):Object.getOwnPropertyDescriptors?Object.defineProperties(a,Object.getOwnPropertyDescriptors(e)):Io(Object(e)).forEach(function(t){Object.defineProperty(a,t,Object.getOwnPropertyDescriptor(e,t))})}return a}function J(a,n){if(!(a instanceof n))throw new TypeError("Cannot call a class as a function")}function Mo(a,n){for(var e=0;e<n.length;e++){var t=n[e];t.enumerable=t.enumerable||!1,t.configurable=!0,"value"in t&&(t.writable=!0),Object.defineProperty(a,No(t.key),t)}}function ee(a,n,e){return n&&Mo(a.prototype,n),e&&Mo(a,e),Object.defineProperty(a,"prototype",{writable:!1}),a}function vt(a){return vt=Object.setPrototypeOf?Object.getPrototypeOf.bind():function(n){return n.__proto__||Object.getPrototypeOf(n)},vt(a)}function Go(){try{var a=!Boolean.prototype.valueOf.call(Reflect.construct(Boolean,[],function(){}))}catch{}return(Go=function(){return!!a})()}function ec(a){if(a===void 0)throw new ReferenceError("this hasn't been initialised - super() hasn't been called");return a}function tc(a,n){if(n&&(typeof n=="object"||typeof n=="function"))return n;if(n!==void 0)throw new TypeError("Derived constructors may only return object or undefined");return ec(a)}function ce(a,n,e){return n=vt(n),tc(a,Go()?Reflect.construct(n,e||[],vt(a).constructor):n.apply(a,e))}function gr(a,n){return gr=Object.setPrototypeOf?Object.setPrototypeOf.bind():function(e,t){return e.__proto__=t,e},gr(a,n)}function he(a,n){if(typeof n!="function"&&n!==null)throw new TypeError("Super expression must either be null or a function");a.prototype=Object.create(n&&n.prototype,{constructor:{value:a,writable:!0,configurable:!0}}),Object.defineProperty(a,"prototype",{writable:!1}),n&&gr(a,n)}function nc(a){if(Array.isArray(a))return Jn(a)}function ac(a){if(typeof Symbol<"u"&&a[Symbol.iterator]!=null||a["@@iterator"]!=null)return Array.from(a)}function rc(){throw new TypeError(`Invalid attempt to spread non-iterable instance.
In order to be iterable, non-array objects must have a [Symbol.iterator]() method.`)}function X(a){return nc(a)||ac(a)||ea(a)||rc()}function te(a){"@babel/helpers - typeof";return te=typeof Symbol=="function"&&typeof Symbol.iterator=="symbol"?function(n){return typeof n}:function(n){return n&&typeof Symbol=="function"&&n.constructor===Symbol&&n!==Symbol.prototype?"symbol":typeof n},te(a)}function Ue(a){return te(a)==="object"&&a!==null&&"attribute"in a}function un(){var a=`
float sdf_circle(vec2 uv, float size) {
  return length(uv) - size;
}
`;return{name:"circle",glsl:a,uniforms:[]}}function cn(a){var n,e=WebGL2RenderingContext,t=e.UNSIGNED_BYTE,r=(n=a?.color)!==null&&n!==void 0?n:{attribute:"color"};if(!Ue(r)){var i=r,o=`
vec4 layer_fill() {
  return `.concat(Fo(i),`;
}
`);return{name:"fill",uniforms:[],attributes:[],glsl:o}}var s=r.attribute,l=`
vec4 layer_fill(vec4 v_fillColor) {
  return v_fillColor;
}
`;return{name:"fill",uniforms:[],attributes:[{name:"fillColor",size:4,type:t,normalized:!0,source:s}],glsl:l}}function pr(a,n){if(typeof a=="string"){var e=Co(a).map(function(d){return d.toFixed(6)}),t=ne(e,4),r=t[0],i=t[1],o=t[2],s=t[3];return{glsl:"vec4(".concat(r,", ").concat(i,", ").concat(o,", ").concat(s,")"),attributes:[],needsNodeColors:!1}}if("node"in a&&a.node)return{glsl:a.node==="source"?"v_sourceColor":"v_targetColor",attributes:[],needsNodeColors:!0};var l=a;return{glsl:"v_".concat(n),attributes:[{name:"a_".concat(n),size:4,type:WebGL2RenderingContext.UNSIGNED_BYTE,normalized:!0,source:l.attribute,defaultValue:l.default}],needsNodeColors:!1}}function $e(a){var n=a?.color;if(n===void 0){var e=`
// Plain solid color layer
vec4 layer_plain(EdgeContext ctx) {
  return v_color;
}
`;return{name:"plain",glsl:e,uniforms:[],attributes:[]}}var t=pr(n,"plainColor"),r=`
// Plain solid color layer
vec4 layer_plain(EdgeContext ctx) {
  return `.concat(t.glsl,`;
}
`);return{name:"plain",glsl:r,uniforms:[],attributes:t.attributes,needsNodeColors:t.needsNodeColors}}function hn(){var a=`
// Position at parameter t ∈ [0, 1]
vec2 path_straight_position(float t, vec2 source, vec2 target) {
  return mix(source, target, t);
}

// Total length of the path (analytical - more efficient than sampling)
float path_straight_length(vec2 source, vec2 target) {
  return length(target - source);
}
`;return{name:"straight",segments:1,minBodyLengthRatio:0,linearParameterization:!0,glsl:a,uniforms:[],attributes:[]}}function vr(a){var n=a??{},e=n.segments,t=e===void 0?32:e,r=`
const float LOOP_PI = 3.141592653589793;

float loopWorldRadius() {
  float nodeWorldRadius = v_sourceNodeSize * u_correctionRatio / u_sizeRatio;
  return max(v_loopRadius * nodeWorldRadius, 0.001);
}

// Cubic Bézier with P0 = P3 = source.
// Control points extend outward orthogonal to the node surface at exit/entry angles.
vec2 path_loop_position(float t, vec2 source, vec2 target) {
  float R = loopWorldRadius();
  float angle = v_loopAngle + (v_loopFixedOrientation > 0.5 ? u_cameraAngle : 0.0);
  float halfSpread = v_loopSpread * 0.5;

  float exitAngle = angle - halfSpread;
  float entryAngle = angle + halfSpread;

  // Control point distance: at t=0.5 the Bézier reaches 0.75 * cpDist * cos(halfSpread)
  // from source. Solve for cpDist so the loop tip reaches exactly R.
  float cpDist = R / (0.75 * cos(halfSpread));

  vec2 cp1 = source + cpDist * vec2(cos(exitAngle), sin(exitAngle));
  vec2 cp2 = source + cpDist * vec2(cos(entryAngle), sin(entryAngle));

  float u = 1.0 - t;
  vec2 d1 = cp1 - source;
  vec2 d2 = cp2 - source;
  return source + 3.0 * t * u * (u * d1 + t * d2);
}

// Approximate arc length via chord sampling
float path_loop_length(vec2 source, vec2 target) {
  float len = 0.0;
  vec2 prev = path_loop_position(0.0, source, target);
  const int STEPS = 16;
  for (int i = 1; i <= STEPS; i++) {
    float t = float(i) / float(STEPS);
    vec2 cur = path_loop_position(t, source, target);
    len += length(cur - prev);
    prev = cur;
  }
  return len;
}
`;return{name:"loop",segments:t,glsl:r,needsNodeSize:!0,uniforms:[],attributes:[{name:"loopRadius",size:1,type:WebGL2RenderingContext.FLOAT},{name:"loopAngle",size:1,type:WebGL2RenderingContext.FLOAT},{name:"loopSpread",size:1,type:WebGL2RenderingContext.FLOAT},{name:"loopFixedOrientation",size:1,type:WebGL2RenderingContext.FLOAT}],variables:{loopRadius:{type:"number",default:4},loopAngle:{type:"number",default:Math.PI/4},loopSpread:{type:"number",default:80*Math.PI/180},loopFixedOrientation:{type:"number",default:0}},spread:{variable:"loopRadius",compute:function(o){return o+4}}}}var Ho=ct(Rt());function zo(a){return te(a)==="object"&&"glsl"in a&&!("attributes"in a)}function Oo(a){return te(a)==="object"&&"glsl"in a&&!("attributes"in a)}var fn={shapes:[un()],variables:{},layers:[cn()],label:{},backdrop:{},labelAttachments:{}},Mt={paths:[hn(),vr()],extremities:[],variables:{},layers:[$e()],defaultHead:"none",defaultTail:"none",label:{}},na=["nodes","topNodes"],aa=["edges","topEdges"],ra=[].concat(aa,na),Wo={nodes:fn,edges:Mt,depthLayers:X(ra)};var ic=function(n){return n},oc=function(n){return n*n},sc=function(n){return n*(2-n)},lc=function(n){return(n*=2)<1?.5*n*n:-.5*(--n*(n-2)-1)},dc=function(n){return n*n*n},uc=function(n){return--n*n*n+1},cc=function(n){return(n*=2)<1?.5*n*n*n:.5*((n-=2)*n*n+2)},hc=function(n){return n===0?0:Math.pow(2,10*(n-1))},fc=function(n){return n===1?1:1-Math.pow(2,-10*n)},gc=function(n){return n===0?0:n===1?1:n<.5?Math.pow(2,10*(2*n-1))/2:(2-Math.pow(2,-10*(2*n-1)))/2},mr={linear:ic,quadraticIn:oc,quadraticOut:sc,quadraticInOut:lc,cubicIn:dc,cubicOut:uc,cubicInOut:cc,exponentialIn:hc,exponentialOut:fc,exponentialInOut:gc};function ia(a){return a?typeof a=="function"?a:mr[a]:mr.linear}function yr(a){return te(a)==="object"&&a!==null&&"attribute"in a}function $o(a){return typeof a=="function"}function Vo(a){return te(a)==="object"&&a!==null&&"when"in a&&typeof a.when=="function"&&"then"in a}function jo(a){return te(a)==="object"&&a!==null&&"whenState"in a&&"then"in a}function Xo(a){return te(a)==="object"&&a!==null&&"whenData"in a&&"then"in a}var pc={isHovered:!1,isLabelHovered:!1,isHidden:!1,isHighlighted:!1,isDragged:!1},vc={isHovered:!1,isLabelHovered:!1,isHidden:!1,isHighlighted:!1,parallelIndex:0,parallelCount:1},mc={isIdle:!0,isPanning:!1,isZooming:!1,isDragging:!1,hasHovered:!1,hasHighlighted:!1};function qo(a){return W(W({},pc),a)}function Ko(a){return W(W({},vc),a)}function _r(a){return W(W({},mc),a)}var bc={x:{attribute:"x"},y:{attribute:"y"},size:{whenState:"isHovered",then:{attribute:"size",defaultValue:12},else:{attribute:"size",defaultValue:10}},color:{attribute:"color",defaultValue:"#666"},label:{attribute:"label"},visibility:{whenState:"isHidden",then:"hidden",else:"visible"},labelVisibility:{whenState:"isHovered",then:"visible",else:"auto"},backdropVisibility:{whenState:"isHovered",then:"visible",else:"hidden"},backdropColor:"#ffffff",backdropShadowColor:"rgba(0, 0, 0, 0.5)",backdropShadowBlur:12,backdropPadding:6},yc={size:{attribute:"size",defaultValue:1},color:{attribute:"color",defaultValue:"#ccc"},label:{attribute:"label"},visibility:{whenState:"isHidden",then:"hidden",else:"visible"}};var sa={nodes:W(W({},bc),{},{depth:{whenState:"isHovered",then:"topNodes",else:"nodes"}}),edges:W(W({},yc),{},{depth:{whenState:["isHighlighted","isHovered"],then:"topEdges",else:"edges"}})};function _c(a){return"min"in a||"max"in a||"minValue"in a||"maxValue"in a||"easing"in a}function xc(a){return"dict"in a}function la(a,n){return typeof a=="string"?n[a]===!0:Array.isArray(a)?a.every(function(e){return n[e]===!0}):te(a)==="object"&&a!==null?Object.entries(a).every(function(e){var t=ne(e,2),r=t[0],i=t[1];return n[r]===i}):!1}function Tc(a,n){var e=n[a.attribute];return e===void 0?a.defaultValue:e}function Sc(a,n,e){var t,r,i,o,s=n[a.attribute];if(s===void 0)return a.defaultValue;var l=Number(s);if(isNaN(l))return a.defaultValue;if(a.min===void 0&&a.max===void 0)return l;var d=(t=a.minValue)!==null&&t!==void 0?t:l,u=(r=a.maxValue)!==null&&r!==void 0?r:l;if(u===d){var f;return(f=a.min)!==null&&f!==void 0?f:l}var g=(l-d)/(u-d);g=Math.max(0,Math.min(1,g));var h=ia(a.easing);g=h(g);var p=(i=a.min)!==null&&i!==void 0?i:0,y=(o=a.max)!==null&&o!==void 0?o:1;return p+g*(y-p)}function Ec(a,n){var e=n[a.attribute];if(e===void 0)return a.defaultValue;var t=String(e);return t in a.dict?a.dict[t]:a.defaultValue}function wc(a,n,e){return xc(a)?Ec(a,n):_c(a)?Sc(a,n):Tc(a,n)}function Yo(a,n){return typeof a=="string"?!!n[a]:Array.isArray(a)?a.every(function(e){return!!n[e]}):te(a)==="object"&&a!==null?Object.entries(a).every(function(e){var t=ne(e,2),r=t[0],i=t[1];return n[r]===i}):!1}function oa(a,n,e,t,r,i){if(a==null)return i;if(te(a)!=="object"&&typeof a!="function")return a;if(Vo(a)){var o=a.when(n,e,t,r)?a.then:a.else;return o===void 0?i:oa(o,n,e,t,r,i)}if(jo(a)){var s=la(a.whenState,e)?a.then:a.else;return s===void 0?i:oa(s,n,e,t,r,i)}if(Xo(a)){var l=Yo(a.whenData,n)?a.then:a.else;return l===void 0?i:oa(l,n,e,t,r,i)}if($o(a)){var d=a(n,e,t,r);return d??i}if(yr(a)){var u=wc(a,n);return u??i}return a}function He(a){if(a==null)return"static";if(Vo(a))return"graph-state";if(jo(a)){var n=He(a.then),e=a.else!==void 0?He(a.else):"static";return ze("item-state",ze(n,e))}if(Xo(a)){var t=He(a.then),r=a.else!==void 0?He(a.else):"static";return ze(t,r)}return $o(a)?"graph-state":(yr(a),"static")}function ze(a,n){return a==="graph-state"||n==="graph-state"?"graph-state":a==="item-state"||n==="item-state"?"item-state":"static"}function xr(a){if(!a)return{dependency:"static",xAttribute:null,yAttribute:null};var n=Array.isArray(a)?a:[a],e="static",t=null,r=null,i=O(n),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;if("matchData"in s&&"cases"in s)for(var l=s.cases,d=0,u=Object.values(l);d<u.length;d++)for(var f=u[d],g=0,h=Object.values(f);g<h.length;g++){var p=h[g];e=ze(e,He(p))}else if("matchState"in s&&"cases"in s){e=ze(e,"item-state");for(var y=s.cases,m=0,v=Object.values(y);m<v.length;m++)for(var b=v[m],_=0,x=Object.values(b);_<x.length;_++){var T=x[_];e=ze(e,He(T))}}else if("when"in s&&"then"in s)e="graph-state";else if("whenState"in s){e=ze(e,"item-state");var S=s.then;if(S&&te(S)==="object")for(var A=0,E=Object.values(S);A<E.length;A++){var k=E[A];e=ze(e,He(k))}var D=s.else;if(D&&te(D)==="object")for(var C=0,R=Object.values(D);C<R.length;C++){var F=R[C];e=ze(e,He(F))}}else if("whenData"in s){var L=s.then;if(L&&te(L)==="object")for(var M=0,G=Object.values(L);M<G.length;M++){var N=G[M];e=ze(e,He(N))}var I=s.else;if(I&&te(I)==="object")for(var P=0,z=Object.values(I);P<z.length;P++){var V=z[P];e=ze(e,He(V))}}else for(var j=0,Q=Object.entries(s);j<Q.length;j++){var q=ne(Q[j],2),Y=q[0],Ae=q[1];if(!Sr.has(Y)&&(e=ze(e,He(Ae)),(Y==="x"||Y==="y")&&yr(Ae))){var Ee=Ae.attribute;Y==="x"&&!t&&(t=Ee),Y==="y"&&!r&&(r=Ee)}}}}catch(H){i.e(H)}finally{i.f()}return{dependency:e,xAttribute:t,yAttribute:r}}var Ye={size:10,color:"#666",opacity:1,shape:"circle",rotationAlignment:"viewport",labelRotationAlignment:"viewport",visibility:"visible",depth:"nodes",zIndex:0,label:"",labelColor:"#000",labelSize:12,labelFont:"sans-serif",labelVisibility:"auto",labelPosition:"right",labelAngle:0,labelDepth:"nodes",backdropVisibility:"hidden",backdropColor:"transparent",backdropShadowColor:"transparent",backdropShadowBlur:0,backdropPadding:0,backdropBorderColor:"transparent",backdropBorderWidth:0,backdropCornerRadius:0,backdropLabelPadding:-1,backdropArea:"both",labelAttachment:null,labelAttachmentPlacement:"below"},Tr={size:1,color:"#ccc",opacity:1,path:"straight",selfLoopPath:"loop",parallelSpread:.25,tail:"none",head:"none",visibility:"visible",depth:"edges",zIndex:0,label:"",labelColor:"#666",labelVisibility:"auto",labelDepth:"edges"},Sr=new Set(["when","whenState","whenData","then","else"]),Bo=Object.keys(Ye),Ac=Object.values(Ye),Uo=Object.keys(Tr),Rc=Object.values(Tr);function Nt(a,n,e,t,r,i,o){for(var s in n){var l;if(!Sr.has(s)){var d=(l=a[s])!==null&&l!==void 0?l:o[s];a[s]=oa(n[s],e,t,r,i,d)}}"depth"in n&&!("labelDepth"in n)&&(a.labelDepth=a.depth)}function Zo(a,n,e,t,r,i,o){var s=O(n),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;if("matchData"in d&&"cases"in d){var u,f=String((u=e[d.matchData])!==null&&u!==void 0?u:""),g=d.cases;f in g&&Nt(a,g[f],e,t,r,i,o)}else if("matchState"in d&&"cases"in d){var h,p=String((h=t[d.matchState])!==null&&h!==void 0?h:""),y=d.cases;p in y&&Nt(a,y[p],e,t,r,i,o)}else if("when"in d&&"then"in d){var m=d.when;if(!m(e,t,r,i))continue;Nt(a,d.then,e,t,r,i,o)}else if("whenState"in d&&"then"in d){if(!la(d.whenState,t))continue;Nt(a,d.then,e,t,r,i,o)}else if("whenData"in d&&"then"in d){if(!Yo(d.whenData,e))continue;Nt(a,d.then,e,t,r,i,o)}else Nt(a,d,e,t,r,i,o)}}catch(v){s.e(v)}finally{s.f()}}function Er(a,n,e,t,r,i){for(var o=i||{},s=o,l=0,d=Bo.length;l<d;l++)s[Bo[l]]=Ac[l];if(s.x=void 0,s.y=void 0,s.labelBackgroundColor=void 0,s.labelBackgroundPadding=void 0,s.labelCursor=void 0,!a){var u,f,g,h,p;return s.x=(u=n.x)!==null&&u!==void 0?u:0,s.y=(f=n.y)!==null&&f!==void 0?f:0,o.size=(g=n.size)!==null&&g!==void 0?g:10,o.color=(h=n.color)!==null&&h!==void 0?h:"#666",o.label=(p=n.label)!==null&&p!==void 0?p:"",o}var y=Array.isArray(a)?a:[a];return Zo(s,y,n,e,t,r,Ye),o}function wr(a,n,e,t,r,i){for(var o=i||{},s=o,l=0,d=Uo.length;l<d;l++)s[Uo[l]]=Rc[l];if(!a){var u,f,g;return o.size=(u=n.size)!==null&&u!==void 0?u:1,o.color=(f=n.color)!==null&&f!==void 0?f:"#ccc",o.label=(g=n.label)!==null&&g!==void 0?g:"",o}var h=Array.isArray(a)?a:[a];return Zo(s,h,n,e,t,r,Tr),typeof s.labelPosition=="number"&&(s.labelPosition=void 0),o}function Dc(a,n,e){var t,r;if(a==null)return e;if(typeof a=="function")return(t=a(n))!==null&&t!==void 0?t:e;if(te(a)==="object"&&"when"in a){var i,o=a,s=o.when(n),l=s?o.then:o.else;return l===void 0?e:typeof l=="function"?(i=l(n))!==null&&i!==void 0?i:e:l??e}if(te(a)==="object"&&"whenState"in a){var d,u=a,f=la(u.whenState,n),g=f?u.then:u.else;return g===void 0?e:typeof g=="function"?(d=g(n))!==null&&d!==void 0?d:e:g??e}return(r=a)!==null&&r!==void 0?r:e}function Ar(a,n){var e={};if(!a)return e;var t=Array.isArray(a)?a:[a],r=O(t),i;try{for(r.s();!(i=r.n()).done;){var o=i.value;if("when"in o&&"then"in o){var s=o.when(n),l=s?o.then:o.else;l&&te(l)==="object"&&br(e,l,n)}else if("whenState"in o&&"then"in o){var d=la(o.whenState,n),u=d?o.then:o.else;u&&te(u)==="object"&&br(e,u,n)}else br(e,o,n)}}catch(f){r.e(f)}finally{r.f()}return e}function br(a,n,e){for(var t=0,r=Object.entries(n);t<r.length;t++){var i=ne(r[t],2),o=i[0],s=i[1];Sr.has(o)||(a[o]=Dc(s,e))}}var da=(function(a){function n(){var e;return J(this,n),e=ce(this,n),e.rawEmitter=e,e}return he(n,a),ee(n)})(Ho.EventEmitter);var Qo=Wo;function Rr(a,n){var e=n.size;if(e!==0){var t=a.length;a.length+=e;var r=0;n.forEach(function(i){a[t+r]=i,r++})}}function Jo(a){a=a||{};for(var n=0,e=arguments.length<=1?0:arguments.length-1;n<e;n++){var t=n+1<1||arguments.length<=n+1?void 0:arguments[n+1];t&&Object.assign(a,t)}return a}function Gt(a,n){for(var e in n)if(Object.prototype.hasOwnProperty.call(n,e)&&n[e]!==a[e])return!0;return!1}function es(a,n){var e=a,t=n;for(var r in e)if(Object.prototype.hasOwnProperty.call(e,r)&&e[r]!==t[r])return!1;for(var i in t)if(Object.prototype.hasOwnProperty.call(t,i)&&t[i]!==e[i])return!1;return!0}function mt(a,n,e){e?a.add(n):a.delete(n)}var ns=ct(Dr());var as={easing:"quadraticInOut",duration:150};function it(a){return a.labelVisibility==="visible"&&a.visibility!=="hidden"}function kr(a){return a.backdropVisibility==="visible"&&a.visibility!=="hidden"}function ua(a){return[a.rotationAlignment==="graph"?1:0,a.labelRotationAlignment==="graph"?1:0]}function Lr(a,n,e){var t=a[n];if(t)for(var r=0;r<t.length;r++){var i=t[r];if(!(e<i.offset||e>=i.offset+i.count)){if(i.count===1)t.splice(r,1);else if(e===i.offset)i.offset++,i.count--;else if(e===i.offset+i.count-1)i.count--;else{var o=e+1,s=i.offset+i.count-o;i.count=e-i.offset,t.splice(r+1,0,{offset:o,count:s})}return}}}function Cr(a,n,e){if(!a[n]){a[n]=[{offset:e,count:1}];return}for(var t=a[n],r=t.length,i=0;i<t.length;i++)if(e<t[i].offset){r=i;break}var o=r>0?t[r-1]:null,s=r<t.length?t[r]:null,l=o&&o.offset+o.count===e,d=s&&e+1===s.offset;l&&d?(o.count+=1+s.count,t.splice(r,1)):l?o.count++:d?(s.offset--,s.count++):t.splice(r,0,{offset:e,count:1})}function rs(a){if(!(0,ns.default)(a))throw new Error("Sigma: invalid graph instance.")}function ca(a){var n=ne(a.x,2),e=n[0],t=n[1],r=ne(a.y,2),i=r[0],o=r[1],s=Math.max(t-e,o-i),l=(t+e)/2,d=(o+i)/2;(s===0||Math.abs(s)===1/0||isNaN(s))&&(s=1),isNaN(l)&&(l=0),isNaN(d)&&(d=0);var u=function(g){return{x:.5+(g.x-l)/s,y:.5+(g.y-d)/s}};return u.applyTo=function(f){f.x=.5+(f.x-l)/s,f.y=.5+(f.y-d)/s},u.inverse=function(f){return{x:l+s*(f.x-.5),y:d+s*(f.y-.5)}},u.ratio=s,u}var ha={hideEdgesOnMove:!1,hideLabelsOnMove:!1,renderLabels:!0,renderEdgeLabels:!1,edgeLabelAnchors:"nodeLabels",enableEdgeEvents:!1,nodeLabelEvents:!1,edgeLabelEvents:!1,pickingDownSizingRatio:2,nodePickingPadding:0,edgePickingPadding:4,labelPickingPadding:10,stagePadding:30,minEdgeThickness:1.7,antiAliasingFeather:1,antialiasEdges:!0,antialiasNodes:!0,dragTimeout:100,draggedEventsTolerance:3,inertiaDuration:200,inertiaRatio:3,zoomDuration:250,zoomingRatio:1.7,doubleClickTimeout:300,doubleClickZoomingRatio:2.2,doubleClickZoomingDuration:200,tapMoveTolerance:10,zoomToSizeRatioFunction:Math.sqrt,itemSizesReference:"positions",autoRescale:!0,autoRescaleContent:"positions",enableNodeDrag:!1,getDraggedNodes:function(n){return[n]},dragPositionToAttributes:null,labelDensity:1,labelGridCellSize:100,labelRenderedSizeThreshold:6,labelPixelSnapping:!0,minCameraRatio:null,maxCameraRatio:null,enableCameraZooming:!0,enableCameraPanning:!0,enableCameraRotation:!0,enableCameraMouseRotation:!0,cameraPanBoundaries:null,gestureTarget:"graph",sharedGestureWheelMessage:"Use Ctrl + scroll to zoom the graph",sharedGestureAppleWheelMessage:"Use ⌘ + scroll to zoom the graph",sharedGestureTouchMessage:"Use two fingers to move the graph",allowInvalidContainer:!1,DEBUG_displayPickingLayer:!1,DEBUG_logShaders:!1,DEBUG_logRenderStats:!1,DEBUG_gpuTimerQueries:!1};function fa(a){if(typeof a.labelDensity!="number"||a.labelDensity<0)throw new Error("Settings: invalid `labelDensity`. Expecting a positive number.");var n=a.minCameraRatio,e=a.maxCameraRatio;if(typeof n=="number"&&typeof e=="number"&&e<n)throw new Error("Settings: invalid camera ratio boundaries. Expecting `maxCameraRatio` to be greater than `minCameraRatio`.")}function is(a){return Jo({},ha,a)}var kc=new Set(["italic","oblique"]),Lc=new Set(["bold","bolder","lighter"]);function ga(a){for(var n="normal",e="normal",t=a.trim(),r=t.split(/\s+/),i=0,o=0;o<r.length;o++){var s=r[o].toLowerCase();if(kc.has(s))e=s,i=o+1;else if(Lc.has(s)||/^\d{3}$/.test(s))n=s,i=o+1;else if(s==="normal")i=o+1;else break}var l=r.slice(i).join(" ");return{family:l||t,weight:n,style:e}}function zt(a,n,e){var t=document.createElement(a);if(n)for(var r in n)t.style[r]=n[r];if(e)for(var i in e)t.setAttribute(i,e[i]);return t}function gn(){return typeof window.devicePixelRatio<"u"?window.devicePixelRatio:1}var ps=ct(Rt());function Cc(a){var n=a.type===WebGL2RenderingContext.FLOAT&&!a.normalized,e=a.type===WebGL2RenderingContext.UNSIGNED_BYTE&&a.size===4&&a.normalized;if(!n&&!e)throw new Error('Attribute "'.concat(a.name,'" is invalid: only non-normalized FLOAT and normalized UNSIGNED_BYTE with size 4 are supported.'));return a.normalized?1:a.size}function Pr(a){var n=0;return a.forEach(function(e){return n+=Cc(e)}),n}function vs(a,n,e){var t=a==="VERTEX"?n.VERTEX_SHADER:n.FRAGMENT_SHADER,r=n.createShader(t);if(r===null)throw new Error("loadShader: error while creating the shader");n.shaderSource(r,e),n.compileShader(r);var i=n.getShaderParameter(r,n.COMPILE_STATUS);if(!i){var o=n.getShaderInfoLog(r);throw n.deleteShader(r),new Error(`loadShader: error while compiling the shader:
`.concat(o,`
`).concat(e))}return r}function Ir(a,n){return vs("VERTEX",a,n)}function Mr(a,n){return vs("FRAGMENT",a,n)}function Nr(a,n){var e=a.createProgram();if(e===null)throw new Error("loadProgram: error while creating the program.");var t,r;for(t=0,r=n.length;t<r;t++)a.attachShader(e,n[t]);a.linkProgram(e);var i=a.getProgramParameter(e,a.LINK_STATUS);if(!i){var o=a.getProgramInfoLog(e);throw a.deleteProgram(e),new Error("loadProgram: error while linking the program: ".concat(o))}return e}function os(a){var n=a.gl,e=a.buffer,t=a.program,r=a.vertexShader,i=a.fragmentShader;n.deleteShader(r),n.deleteShader(i),n.deleteProgram(t),n.deleteBuffer(e)}function ge(a){return a%1===0?a.toFixed(1):a.toString()}var _a=new Map,ms=new Map,Pc=0;function bs(a,n){var e,t=(e=a.variables)===null||e===void 0||(e=e[n.source||n.name.replace(/^a_/,"")])===null||e===void 0?void 0:e.default,r=typeof t=="number"?t:typeof n.defaultValue=="number"?n.defaultValue:0;return ge(r)}function xa(a,n,e){var t,r=arguments.length>3&&arguments[3]!==void 0?arguments[3]:function(o){return"v_".concat(o.name.replace(/^a_/,""))},i=[n,e].concat(X(a.uniforms.filter(function(o){return o.type==="float"}).map(function(o){var s;return ge((s=o.value)!==null&&s!==void 0?s:0)})),X(((t=a.attributes)!==null&&t!==void 0?t:[]).map(r)));return"sdf_".concat(a.name,"(").concat(i.join(", "),")")}function Fc(a){var n,e=a.name,t=a.uniforms.filter(function(o){return o.type==="float"&&o.value!==void 0&&o.value!==0}).map(function(o){return"".concat(o.name.replace("u_",""),"=").concat(o.value)}).sort(),r=((n=a.attributes)!==null&&n!==void 0?n:[]).map(function(o){var s;return"".concat(o.name,"@").concat((s=o.source)!==null&&s!==void 0?s:"","=").concat(bs(a,o))}),i=[].concat(X(t),X(r));return i.length>0&&(e+="#"+i.join("#")),e}function Ic(a){var n=Fc(a);if(!_a.has(n)){var e={},t=O(a.uniforms),r;try{for(t.s();!(r=t.n()).done;){var i=r.value;i.type==="float"&&i.value!==void 0&&(e[i.name]=i.value)}}catch(o){t.e(o)}finally{t.f()}_a.set(n,{shape:a,uniformValues:e,slug:n}),ms.set(n,Pc++)}return n}function yn(a){var n;return(n=ms.get(a))!==null&&n!==void 0?n:-1}function ys(a){var n=[],e=new Set,t=new Set,r=/mat2 rotate2D\(float angle\)\s*\{[^}]+\}/,i=O(a),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;if(!t.has(s.name)){t.add(s.name);var l=s.glsl;r.test(l)&&(e.has("rotate2D")?l=l.replace(r,""):e.add("rotate2D")),n.push(l)}}}catch(d){i.e(d)}finally{i.f()}return n.join(`
`)}function Mc(){return ys(Array.from(_a.values()).map(function(a){return a.shape}))}function Nc(a){var n=Array.from(_a.entries());if(n.length===0)return`
float querySDF(int shapeId, vec2 uv, float size) {
  return length(uv) - size;
}
`;var e=n.map(function(t,r){var i=ne(t,2),o=i[0],s=i[1].shape,l=xa(s,"uv","size",function(d){var u=d.name.replace(/^a_/,"");return a!=null&&a.has(u)?"g_".concat(u):bs(s,d)});return"    case ".concat(r,": return ").concat(l,"; // ").concat(o)}).join(`
`);return`
float querySDF(int shapeId, vec2 uv, float size) {
  switch (shapeId) {
`.concat(e,`
    default: return length(uv) - size;
  }
}
`)}function Gr(a){return ys(a)}function _n(a){return X(new Map(a.flatMap(function(n){return n.uniforms}).map(function(n){return[n.name,n]})).values())}function Gc(a,n){if(a.length===0)return`
void queryNodeSDF(int shapeId, vec2 uv, float size) {
  context.sdf = length(uv) - size;
  context.inradiusFactor = 1.0;
}
`;var e=function(f){return xa(f,"uv","size")},t=function(f){var g,h;return(g=f.inradiusFactorGLSL)!==null&&g!==void 0?g:ge((h=f.inradiusFactor)!==null&&h!==void 0?h:1)};if(a.length===1){var r=a[0];return`
void queryNodeSDF(int shapeId, vec2 uv, float size) {
  context.sdf = `.concat(e(r),`;
  context.inradiusFactor = `).concat(t(r),`;
}
`)}var i=a.map(function(u,f){return"    case ".concat(f,": // ").concat(u.name,`
      context.sdf = `).concat(e(u),`;
      context.inradiusFactor = `).concat(t(u),`;
      break;`)}).join(`
`),o=a[0],s="",l="shapeId";if(n&&n.length>1){var d=n.map(function(u,f){return"    case ".concat(u,": return ").concat(f,"; // ").concat(a[f].name)}).join(`
`);s=`
int globalToLocalShapeId(int globalId) {
  switch (globalId) {
`.concat(d,`
    default: return 0;
  }
}
`),l="globalToLocalShapeId(shapeId)"}return"".concat(s,`
void queryNodeSDF(int shapeId, vec2 uv, float size) {
  switch (`).concat(l,`) {
`).concat(i,`
    default:
      context.sdf = `).concat(e(o),`;
      context.inradiusFactor = `).concat(t(o),`;
  }
}
`)}var Wt={right:0,left:1,above:2,below:3,over:4},Bt=5,zr=3,_s=`
float matrixScaleX = length(vec2(u_matrix[0][0], u_matrix[1][0]));
float nodeRadiusGraphSpace = nodeSize * u_correctionRatio / u_sizeRatio * 2.0;
float nodeRadiusNDC = nodeRadiusGraphSpace * matrixScaleX;
float nodeRadiusPixels = nodeRadiusNDC * u_resolution.x / 2.0;
`,Or=`
mat2 rotate2D(float angle) {
  float c = cos(angle);
  float s = sin(angle);
  return mat2(c, -s, s, c);
}
`,xs=`
vec2 getLabelDirection(float positionMode) {
  if (positionMode < 0.5) return vec2(1.0, 0.0);   // Right
  if (positionMode < 1.5) return vec2(-1.0, 0.0);  // Left
  if (positionMode < 2.5) return vec2(0.0, -1.0);  // Above
  if (positionMode < 3.5) return vec2(0.0, 1.0);   // Below
  return vec2(0.0);                                 // Over (centered)
}
`,zc=`
float sdfBox(vec2 p, vec2 halfSize) {
  vec2 d = abs(p) - halfSize;
  return length(max(d, 0.0)) + min(max(d.x, d.y), 0.0);
}
`,Oc=`
float sdfRotatedBox(vec2 p, vec2 halfSize, float angle) {
  float c = cos(-angle);
  float s = sin(-angle);
  vec2 rotatedP = mat2(c, -s, s, c) * p;
  return sdfBox(rotatedP, halfSize);
}
`,Wc=`
float sdfRoundedBox(vec2 p, vec2 halfSize, float radius) {
  vec2 d = abs(p) - halfSize + radius;
  return length(max(d, 0.0)) + min(max(d.x, d.y), 0.0) - radius;
}
`,Bc=`
float sdfRoundedRotatedBox(vec2 p, vec2 halfSize, float angle, float radius) {
  float c = cos(-angle);
  float s = sin(-angle);
  vec2 rotatedP = mat2(c, -s, s, c) * p;
  return sdfRoundedBox(rotatedP, halfSize, radius);
}
`,Ts=`
vec2 labelBoxCenter(float positionMode, float labelStart, vec2 halfSize, float textHalfY) {
  if (positionMode < 0.5) return vec2(labelStart + halfSize.x, 0.0);    // right
  if (positionMode < 1.5) return vec2(-(labelStart + halfSize.x), 0.0); // left
  if (positionMode < 2.5) return vec2(0.0, -(labelStart + textHalfY));  // above
  if (positionMode < 3.5) return vec2(0.0, labelStart + textHalfY);     // below
  return vec2(0.0);                                                     // over
}
`,Wr=2,Ze=`
vec4 readNodeData(sampler2D nodeDataTexture, int nodeDataTextureWidth, int nodeIndex) {
  int t = nodeIndex * `.concat(Wr,`;
  ivec2 coord = ivec2(t % nodeDataTextureWidth, t / nodeDataTextureWidth);
  return texelFetch(nodeDataTexture, coord, 0);
}
`),yt=`
vec4 readNodeFlags(sampler2D nodeDataTexture, int nodeDataTextureWidth, int nodeIndex) {
  int t = nodeIndex * `.concat(Wr,` + 1;
  ivec2 coord = ivec2(t % nodeDataTextureWidth, t / nodeDataTextureWidth);
  return texelFetch(nodeDataTexture, coord, 0);
}
`),Uc=`
vec4 readNodeColor(sampler2D nodeDataTexture, int nodeDataTextureWidth, int nodeIndex) {
  int t = nodeIndex * `.concat(Wr,` + 1;
  ivec2 coord = ivec2(t % nodeDataTextureWidth, t / nodeDataTextureWidth);
  vec4 texel = texelFetch(nodeDataTexture, coord, 0);
  float r = floor(texel.b / 65536.0);
  float g = floor(mod(texel.b, 65536.0) / 256.0);
  float b = mod(texel.b, 256.0);
  return vec4(r / 255.0, g / 255.0, b / 255.0, texel.a);
}
`),Ut=`
vec4 readFrameTexel(sampler2D frameTexture, int frameTextureWidth, int index) {
  ivec2 coord = ivec2(index % frameTextureWidth, index / frameTextureWidth);
  return texelFetch(frameTexture, coord, 0);
}
`;function Hc(a,n){var e=function(o){return xa(o,"uv","size")};if(a.length===1)return{code:ss(e(a[0])),multiShape:!1};var t=a.map(function(i,o){return"    case ".concat(n?n[o]:o,": return ").concat(e(i),";")}).join(`
`),r=`
float queryShapeSDF(int shapeId, vec2 uv, float size) {
  switch (shapeId) {
`.concat(t,`
    default: return `).concat(e(a[0]),`;
  }
}
int g_shapeId;
`).concat(ss("queryShapeSDF(g_shapeId, uv, size)"),`
`);return{code:r,multiShape:!0}}function ss(a){return`
float findEdgeDistance(vec2 direction, float size) {
  float lo = 0.0, hi = 2.0;
  for (int i = 0; i < 8; i++) {
    float mid = (lo + hi) * 0.5;
    vec2 uv = direction * mid;
    if (`.concat(a,` < 0.0) lo = mid; else hi = mid;
  }
  return (lo + hi) * 0.5;
}
`)}function $c(a,n){for(;!{}.hasOwnProperty.call(a,n)&&(a=vt(a))!==null;);return a}function Fr(){return Fr=typeof Reflect<"u"&&Reflect.get?Reflect.get.bind():function(a,n,e){var t=$c(a,n);if(t){var r=Object.getOwnPropertyDescriptor(t,n);return r.get?r.get.call(arguments.length<3?a:e):r.value}},Fr.apply(null,arguments)}function ye(a,n,e,t){var r=Fr(vt(1&t?a.prototype:a),n,e);return 2&t&&typeof r=="function"?function(i){return r.apply(e,i)}:r}var Vc=1024,jc=1.5,Xc=4096,Ss=-1,Ta=(function(){function a(n,e){var t=arguments.length>2&&arguments[2]!==void 0?arguments[2]:Vc;J(this,a),w(this,"texture",null),w(this,"dirty",!1),w(this,"dirtyRangeStart",1/0),w(this,"dirtyRangeEnd",-1),w(this,"indexMap",new Map),w(this,"freeIndices",[]),w(this,"nextIndex",0),this.gl=n,this.TEXELS_PER_ITEM=e,this.capacity=this.roundUpToPowerOfTwo(t);var r=this.computeTextureDimensions(this.capacity);this.textureWidth=r.width,this.textureHeight=r.height,this.data=new Float32Array(this.textureWidth*this.textureHeight*4),this.createTexture()}return ee(a,[{key:"computeTextureDimensions",value:function(e){var t=e*this.TEXELS_PER_ITEM,r=Math.min(t,Xc),i=Math.ceil(t/r);return{width:r,height:i}}},{key:"roundUpToPowerOfTwo",value:function(e){return Math.pow(2,Math.ceil(Math.log2(Math.max(1,e))))}},{key:"createTexture",value:function(){var e=this.gl;this.texture=e.createTexture(),e.activeTexture(e.TEXTURE0),e.bindTexture(e.TEXTURE_2D,this.texture),e.texImage2D(e.TEXTURE_2D,0,e.RGBA32F,this.textureWidth,this.textureHeight,0,e.RGBA,e.FLOAT,this.data),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MIN_FILTER,e.NEAREST),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MAG_FILTER,e.NEAREST),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_S,e.CLAMP_TO_EDGE),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_T,e.CLAMP_TO_EDGE),e.bindTexture(e.TEXTURE_2D,null)}},{key:"resize",value:function(e){if(!(e<=this.capacity)){var t=this.roundUpToPowerOfTwo(Math.ceil(e*jc)),r=this.gl,i=this.computeTextureDimensions(t),o=new Float32Array(i.width*i.height*4);o.set(this.data),this.texture&&r.deleteTexture(this.texture),this.data=o,this.capacity=t,this.textureWidth=i.width,this.textureHeight=i.height,this.createTexture(),this.dirty=!0,this.dirtyRangeStart=0,this.dirtyRangeEnd=this.nextIndex}}},{key:"allocate",value:function(e){var t=this.indexMap.get(e);if(t!==void 0)return t;var r;return this.freeIndices.length>0?r=this.freeIndices.pop():(r=this.nextIndex++,r>=this.capacity&&this.resize(r+1)),this.indexMap.set(e,r),r}},{key:"free",value:function(e){var t=this.indexMap.get(e);if(t!==void 0){this.indexMap.delete(e),this.freeIndices.push(t);for(var r=t*this.TEXELS_PER_ITEM*4,i=0;i<this.TEXELS_PER_ITEM*4;i++)this.data[r+i]=0;this.markDirty(t)}}},{key:"getIndex",value:function(e){var t;return(t=this.indexMap.get(e))!==null&&t!==void 0?t:-1}},{key:"has",value:function(e){return this.indexMap.has(e)}},{key:"markDirty",value:function(e){this.dirty=!0,this.dirtyRangeStart=Math.min(this.dirtyRangeStart,e),this.dirtyRangeEnd=Math.max(this.dirtyRangeEnd,e+1)}},{key:"upload",value:function(){if(!(!this.dirty||!this.texture)){var e=this.gl,t=this.textureWidth;e.activeTexture(e.TEXTURE0),e.bindTexture(e.TEXTURE_2D,this.texture);var r=this.dirtyRangeStart*this.TEXELS_PER_ITEM,i=Math.min(this.dirtyRangeEnd*this.TEXELS_PER_ITEM,this.capacity*this.TEXELS_PER_ITEM);if(r<i)for(var o=Math.floor(r/t),s=Math.floor((i-1)/t),l=o;l<=s;l++){var d=l*t,u=Math.min(d+t,this.capacity*this.TEXELS_PER_ITEM),f=Math.max(r,d),g=Math.min(i,u);if(f<g){var h=f-d,p=g-f,y=this.data.subarray(f*4,g*4);e.texSubImage2D(e.TEXTURE_2D,0,h,l,p,1,e.RGBA,e.FLOAT,y)}}e.bindTexture(e.TEXTURE_2D,null),this.dirty=!1,this.dirtyRangeStart=1/0,this.dirtyRangeEnd=-1}}},{key:"bind",value:function(e){var t=this.gl;t.activeTexture(t.TEXTURE0+e),t.bindTexture(t.TEXTURE_2D,this.texture)}},{key:"getTexture",value:function(){return this.texture}},{key:"getCapacity",value:function(){return this.capacity}},{key:"getTextureWidth",value:function(){return this.textureWidth}},{key:"getTextureHeight",value:function(){return this.textureHeight}},{key:"getTexelsPerItem",value:function(){return this.TEXELS_PER_ITEM}},{key:"getCount",value:function(){return this.indexMap.size}},{key:"getHighWaterMark",value:function(){return this.nextIndex}},{key:"isDirty",value:function(){return this.dirty}},{key:"clear",value:function(){this.indexMap.clear(),this.freeIndices=[],this.nextIndex=0,this.data.fill(0),this.dirty=!0,this.dirtyRangeStart=0,this.dirtyRangeEnd=this.capacity}},{key:"restore",value:function(){this.createTexture(),this.dirty=!1,this.dirtyRangeStart=1/0,this.dirtyRangeEnd=-1}},{key:"kill",value:function(){this.texture&&(this.gl.deleteTexture(this.texture),this.texture=null),this.indexMap.clear(),this.freeIndices=[]}}])})();function Oe(a){var n={},e={},t=0,r=O(a),i;try{for(r.s();!(i=r.n()).done;){var o=i.value,s=O(o.attributes),l;try{for(s.s();!(l=s.n()).done;){var d=l.value,u=d.name.replace(/^a_/,"");u in n||(n[u]=t,e[u]=d,t+=d.size)}}catch(f){s.e(f)}finally{s.f()}}}catch(f){r.e(f)}finally{r.f()}return{floatsPerItem:t,texelsPerItem:Math.max(1,Math.ceil(t/4)),offsets:n,specs:e}}var Sa=(function(a){function n(e,t,r){var i;return J(this,n),i=ce(this,n,[e,t.texelsPerItem,r]),i.floatsPerItem=t.floatsPerItem,i}return he(n,a),ee(n,[{key:"updateAllAttributes",value:function(t,r){var i=this.indexMap.get(t);i===void 0&&(i=this.allocate(t));for(var o=i*this.TEXELS_PER_ITEM*4,s=Math.min(r.length,this.floatsPerItem),l=0;l<s;l++)this.data[o+l]=r[l];this.markDirty(i)}},{key:"updateAllAttributesAtRow",value:function(t,r){t>=this.capacity&&this.resize(t+1);for(var i=t*this.TEXELS_PER_ITEM*4,o=Math.min(r.length,this.floatsPerItem),s=0;s<o;s++)this.data[i+s]=r[s];this.markDirty(t)}}])})(Ta);function Ea(a,n,e){for(var t=[],r=new Set,i=0;i<a.length;i++){var o=a[i],s=O(o.attributes),l;try{for(s.s();!(l=s.n()).done;){var d=l.value,u=d.name.replace(/^a_/,"");if(!r.has(u)){r.add(u);var f=n.offsets[u];if(f!==void 0){var g=e?.get(i);t.push({sourceKey:d.source||u,packedOffset:f,size:d.size,isColor:d.size===4&&!!d.normalized,defaultNum:typeof d.defaultValue=="number"?d.defaultValue:d.defaultValue===!0?1:0,defaultColor:typeof d.defaultValue=="string"?d.defaultValue:"",sourceIndex:i,hasLifecycleHook:!!(g!=null&&g.getAttributeData)})}}}}catch(h){s.e(h)}finally{s.f()}}return t}function wa(a,n,e,t,r,i){e.fill(0);for(var o=0,s=a.length;o<s;o++){var l=a[o],d=l.packedOffset,u=void 0;if(l.hasLifecycleHook){var f=r.get(l.sourceIndex-i);u=f.getAttributeData(n,l.sourceKey),u===null&&(u=n[l.sourceKey])}else u=n[l.sourceKey];if(l.isColor){var g=typeof u=="string"?u:l.defaultColor||t,h=rt(g),p=ne(h,4),y=p[0],m=p[1],v=p[2],b=p[3];e[d]=y/255,e[d+1]=m/255,e[d+2]=v/255,e[d+3]=b/255}else if(l.size===1)e[d]=typeof u=="number"?u:typeof u=="boolean"?u?1:0:l.defaultNum;else{var _=Array.isArray(u)?u:null;if(_)for(var x=0;x<l.size;x++){var T;e[d+x]=(T=_[x])!==null&&T!==void 0?T:0}}}}var pa=["r","g","b","a"];function Ot(a,n){var e=a.offsets,t=a.specs,r=a.texelsPerItem,i=a.floatsPerItem,o=Object.keys(e);if(o.length===0||i===0)return{fetchCode:"",varyingAssignments:""};var s=n.varPrefix,l=n.baseTexelExpr,d=n.textureWidthUniform,u=n.textureSamplerUniform,f=n.outputPrefix,g=f===void 0?"v_":f,h=[];h.push("  int ".concat(s,"BaseTexel = ").concat(l,";")),h.push("");for(var p=0;p<r;p++)h.push("  ivec2 ".concat(s,"Coord").concat(p," = ivec2((").concat(s,"BaseTexel + ").concat(p,") % ").concat(d,", (").concat(s,"BaseTexel + ").concat(p,") / ").concat(d,");")),h.push("  vec4 ".concat(s,"Texel").concat(p," = texelFetch(").concat(u,", ").concat(s,"Coord").concat(p,", 0);"));h.push("");for(var y=[],m=function(){var x=b[v],T=t[x],S=e[x],A=Math.floor(S/4),E=S%4,k="".concat(s,"Texel").concat(A),D="".concat(s,"Texel").concat(A+1),C="".concat(s,"Fetched_").concat(x);if(T.size===1)h.push("  float ".concat(C," = ").concat(k,".").concat(pa[E],";"));else if(T.size===4&&E===0)h.push("  vec4 ".concat(C," = ").concat(k,";"));else{var R=E+T.size;if(R<=4){var F="vec".concat(T.size),L=pa.slice(E,R).join("");h.push("  ".concat(F," ").concat(C," = ").concat(k,".").concat(L,";"))}else{var M=T.size===4?"vec4":"vec".concat(T.size),G=pa.slice(E).map(function(P){return"".concat(k,".").concat(P)}),N=pa.slice(0,R-4).map(function(P){return"".concat(D,".").concat(P)}),I=[].concat(X(G),X(N)).join(", ");h.push("  ".concat(M," ").concat(C," = ").concat(M,"(").concat(I,");"))}}y.push("  ".concat(g).concat(x," = ").concat(C,";"))},v=0,b=o;v<b.length;v++)m();return{fetchCode:h.join(`
`),varyingAssignments:y.join(`
`)}}function Br(a,n,e){if(!(!n||e.type==="sampler2D"))switch(e.type){case"float":a.uniform1f(n,e.value);break;case"int":case"bool":a.uniform1i(n,e.value);break;case"vec2":a.uniform2fv(n,e.value);break;case"vec3":a.uniform3fv(n,e.value);break;case"vec4":a.uniform4fv(n,e.value);break;case"mat3":a.uniformMatrix3fv(n,!1,e.value);break;case"mat4":a.uniformMatrix4fv(n,!1,e.value);break}}var qc=w(w(w(w(w(w(w(w({},WebGL2RenderingContext.BOOL,1),WebGL2RenderingContext.BYTE,1),WebGL2RenderingContext.UNSIGNED_BYTE,1),WebGL2RenderingContext.SHORT,2),WebGL2RenderingContext.UNSIGNED_SHORT,2),WebGL2RenderingContext.INT,4),WebGL2RenderingContext.UNSIGNED_INT,4),WebGL2RenderingContext.FLOAT,4);function va(a){var n=a.match(/^(#version[^\n]*\n)/);return n?n[1]+`#define PICKING_MODE
`+a.slice(n[1].length):`#define PICKING_MODE
`+a}var _t=(function(){function a(n,e,t){J(this,a),w(this,"floats",new Float32Array),w(this,"ints",new Uint32Array),w(this,"constantArray",new Float32Array),w(this,"capacity",0),w(this,"verticesCount",0),w(this,"bufferGeneration",0),w(this,"uploadedGeneration",new Map),w(this,"constantBufferGeneration",0),w(this,"uploadedConstantGeneration",new Map),w(this,"renderOffset",0),w(this,"renderCount",-1),w(this,"debugStats",{drawCalls:0,verticesDrawn:0,bufferUploadBytes:0}),w(this,"shadersLogged",!1),w(this,"pickProgram",null);var r=this.getDefinition();if(this.VERTICES=r.VERTICES,this.VERTEX_SHADER_SOURCE=r.VERTEX_SHADER_SOURCE,this.FRAGMENT_SHADER_SOURCE=r.FRAGMENT_SHADER_SOURCE,this.UNIFORMS=r.UNIFORMS,this.ATTRIBUTES=r.ATTRIBUTES,this.METHOD=r.METHOD,this.CONSTANT_ATTRIBUTES="CONSTANT_ATTRIBUTES"in r?r.CONSTANT_ATTRIBUTES:[],this.CONSTANT_DATA="CONSTANT_DATA"in r?r.CONSTANT_DATA:[],this.isInstanced="CONSTANT_ATTRIBUTES"in r,this.ATTRIBUTES_ITEMS_COUNT=Pr(this.ATTRIBUTES),this.STRIDE=this.VERTICES*this.ATTRIBUTES_ITEMS_COUNT,this.renderer=t,this.normalProgram=this.getProgramInfo("normal",n,r.VERTEX_SHADER_SOURCE,r.FRAGMENT_SHADER_SOURCE,null),this.pickProgram=this.getProgramInfo("pick",n,va(r.VERTEX_SHADER_SOURCE),va(r.FRAGMENT_SHADER_SOURCE),null),this.isInstanced){var i=Pr(this.CONSTANT_ATTRIBUTES);if(this.CONSTANT_DATA.length!==this.VERTICES)throw new Error("Program: error while getting constant data (expected ".concat(this.VERTICES," items, received ").concat(this.CONSTANT_DATA.length," instead)"));this.constantArray=new Float32Array(this.CONSTANT_DATA.length*i);for(var o=0;o<this.CONSTANT_DATA.length;o++){var s=this.CONSTANT_DATA[o];if(s.length!==i)throw new Error("Program: error while getting constant data (one vector has ".concat(s.length," items instead of ").concat(i,")"));for(var l=0;l<s.length;l++)this.constantArray[o*i+l]=s[l]}this.STRIDE=this.ATTRIBUTES_ITEMS_COUNT}}return ee(a,[{key:"kill",value:function(){os(this.normalProgram),this.pickProgram&&os(this.pickProgram)}},{key:"resetDebugStats",value:function(){this.debugStats.drawCalls=0,this.debugStats.verticesDrawn=0,this.debugStats.bufferUploadBytes=0}},{key:"getProgramInfo",value:function(e,t,r,i,o){var s=t.createBuffer();if(s===null)throw new Error("Program: error while creating the WebGL buffer.");var l=Ir(t,r),d=Mr(t,i),u=Nr(t,[l,d]),f={};this.UNIFORMS.forEach(function(p){var y=t.getUniformLocation(u,p);y&&(f[p]=y)});var g={};this.ATTRIBUTES.forEach(function(p){g[p.name]=t.getAttribLocation(u,p.name)});var h;if(this.isInstanced&&(this.CONSTANT_ATTRIBUTES.forEach(function(p){g[p.name]=t.getAttribLocation(u,p.name)}),h=t.createBuffer(),h===null))throw new Error("Program: error while creating the WebGL constant buffer.");return{name:e,program:u,gl:t,frameBuffer:o,buffer:s,constantBuffer:h||{},uniformLocations:f,attributeLocations:g,isPicking:e==="pick",vertexShader:l,fragmentShader:d}}},{key:"bindProgram",value:function(e){var t=this,r=0,i=e.gl,o=e.buffer;if(this.isInstanced){if(i.bindBuffer(i.ARRAY_BUFFER,e.constantBuffer),r=0,this.CONSTANT_ATTRIBUTES.forEach(function(u){return r+=t.bindAttribute(u,e,r,!1)}),this.uploadedConstantGeneration.get(e.constantBuffer)!==this.constantBufferGeneration){var l;i.bufferData(i.ARRAY_BUFFER,this.constantArray,i.STATIC_DRAW),this.uploadedConstantGeneration.set(e.constantBuffer,this.constantBufferGeneration),(l=this.renderer)!==null&&l!==void 0&&l.getSetting("DEBUG_logRenderStats")&&(this.debugStats.bufferUploadBytes+=this.constantArray.byteLength)}if(i.bindBuffer(i.ARRAY_BUFFER,e.buffer),r=this.renderOffset*this.ATTRIBUTES_ITEMS_COUNT*Float32Array.BYTES_PER_ELEMENT,this.ATTRIBUTES.forEach(function(u){return r+=t.bindAttribute(u,e,r,!0)}),this.uploadedGeneration.get(o)!==this.bufferGeneration){var d;i.bufferData(i.ARRAY_BUFFER,this.floats,i.DYNAMIC_DRAW),this.uploadedGeneration.set(o,this.bufferGeneration),(d=this.renderer)!==null&&d!==void 0&&d.getSetting("DEBUG_logRenderStats")&&(this.debugStats.bufferUploadBytes+=this.floats.byteLength)}}else if(i.bindBuffer(i.ARRAY_BUFFER,o),r=0,this.ATTRIBUTES.forEach(function(u){return r+=t.bindAttribute(u,e,r)}),this.uploadedGeneration.get(o)!==this.bufferGeneration){var s;i.bufferData(i.ARRAY_BUFFER,this.floats,i.DYNAMIC_DRAW),this.uploadedGeneration.set(o,this.bufferGeneration),(s=this.renderer)!==null&&s!==void 0&&s.getSetting("DEBUG_logRenderStats")&&(this.debugStats.bufferUploadBytes+=this.floats.byteLength)}i.bindBuffer(i.ARRAY_BUFFER,null)}},{key:"unbindProgram",value:function(e){var t=this;this.isInstanced?(this.CONSTANT_ATTRIBUTES.forEach(function(r){return t.unbindAttribute(r,e,!1)}),this.ATTRIBUTES.forEach(function(r){return t.unbindAttribute(r,e,!0)})):this.ATTRIBUTES.forEach(function(r){return t.unbindAttribute(r,e)})}},{key:"bindAttribute",value:function(e,t,r,i){var o=qc[e.type];if(typeof o!="number")throw new Error('Program.bind: yet unsupported attribute type "'.concat(e.type,'"'));var s=t.attributeLocations[e.name],l=t.gl;if(s!==-1){l.enableVertexAttribArray(s);var d=this.isInstanced?(i?this.ATTRIBUTES_ITEMS_COUNT:Pr(this.CONSTANT_ATTRIBUTES))*Float32Array.BYTES_PER_ELEMENT:this.ATTRIBUTES_ITEMS_COUNT*Float32Array.BYTES_PER_ELEMENT;l.vertexAttribPointer(s,e.size,e.type,e.normalized||!1,d,r),this.isInstanced&&i&&l.vertexAttribDivisor(s,1)}return e.size*o}},{key:"unbindAttribute",value:function(e,t,r){var i=t.attributeLocations[e.name],o=t.gl;i!==-1&&(o.disableVertexAttribArray(i),this.isInstanced&&r&&o.vertexAttribDivisor(i,0))}},{key:"reallocate",value:function(e){e!==this.capacity&&(this.capacity=e,this.verticesCount=this.VERTICES*e,this.floats=new Float32Array(this.isInstanced?this.capacity*this.ATTRIBUTES_ITEMS_COUNT:this.verticesCount*this.ATTRIBUTES_ITEMS_COUNT),this.ints=new Uint32Array(this.floats.buffer),this.invalidateBuffers())}},{key:"invalidateBuffers",value:function(){this.bufferGeneration++,this.constantBufferGeneration++}},{key:"hasNothingToRender",value:function(){return this.verticesCount===0}},{key:"setTypedUniform",value:function(e,t){var r;Br(t.gl,(r=t.uniformLocations[e.name])!==null&&r!==void 0?r:null,e)}},{key:"renderProgram",value:function(e,t){var r=t.gl,i=t.program,o=t.isPicking;o?r.disable(r.BLEND):r.enable(r.BLEND),r.useProgram(i),this.setUniforms(e,t),this.drawWebGL(this.METHOD,t)}},{key:"render",value:function(e,t,r){var i;if(!this.shadersLogged&&(i=this.renderer)!==null&&i!==void 0&&i.getSetting("DEBUG_logShaders")&&(this.shadersLogged=!0,console.log("[sigma] DEBUG_logShaders: ".concat(this.constructor.name),{normal:{vertexShaderSource:this.VERTEX_SHADER_SOURCE,fragmentShaderSource:this.FRAGMENT_SHADER_SOURCE},pick:{vertexShaderSource:va(this.VERTEX_SHADER_SOURCE),fragmentShaderSource:va(this.FRAGMENT_SHADER_SOURCE)}})),!this.hasNothingToRender()){this.renderOffset=t??0,this.renderCount=r??-1;var o=this.normalProgram.gl;if(o.bindFramebuffer(o.FRAMEBUFFER,null),o.viewport(0,0,e.width*e.pixelRatio,e.height*e.pixelRatio),this.bindProgram(this.normalProgram),this.renderProgram(e,this.normalProgram),this.unbindProgram(this.normalProgram),this.pickProgram&&e.pickingFrameBuffer){var s=Math.ceil(e.width*e.pixelRatio/e.downSizingRatio),l=Math.ceil(e.height*e.pixelRatio/e.downSizingRatio);o.bindFramebuffer(o.FRAMEBUFFER,e.pickingFrameBuffer),o.viewport(0,0,s,l),this.bindProgram(this.pickProgram),this.renderProgram(e,this.pickProgram),this.unbindProgram(this.pickProgram),o.bindFramebuffer(o.FRAMEBUFFER,null),o.viewport(0,0,e.width*e.pixelRatio,e.height*e.pixelRatio)}}}},{key:"drawWebGL",value:function(e,t){var r,i=t.gl,o=this.renderCount>=0?this.renderCount:this.capacity;(r=this.renderer)!==null&&r!==void 0&&r.getSetting("DEBUG_logRenderStats")&&(this.debugStats.drawCalls++,this.debugStats.verticesDrawn+=o*this.VERTICES),this.isInstanced?i.drawArraysInstanced(e,0,this.VERTICES,o):i.drawArrays(e,this.renderOffset*this.VERTICES,o*this.VERTICES)}}])})(),lt=2,xn=7,Es={below:0,above:1,left:2,right:3};function Kc(){var a=`#version 300 es
precision highp float;

uniform mat3 u_matrix;
uniform vec2 u_resolution;
uniform float u_labelPixelSnapping;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
uniform float u_pixelRatio;
uniform float u_labelMargin;
uniform float u_zoomLabelSizeRatio;

uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_nodeFrameTexture;
uniform int u_nodeFrameTextureWidth;

// Atlas size is fixed at 2048×2048 — matches AttachmentManager.ATLAS_SIZE.
uniform sampler2D u_atlasTexture;
const vec2 u_atlasSize = vec2(2048.0);

// Per-instance
in float a_nodeIndex;           // node-data texture index
in vec4 a_atlasRect;            // x, y, width, height in atlas pixels
in vec2 a_attachmentSize;       // attachment dimensions (CSS px)
in float a_positionMode;        // label position: 0=right 1=left 2=above 3=below 4=over
in float a_attachmentPlacement; // 0=below 1=above 2=left 3=right (relative to label)
in float a_labelWidth;          // label width (CSS px)
in float a_labelHeight;         // label height: font line box (CSS px)
in float a_textHeight;          // actual glyph height (CSS px)
in float a_labelAngle;          // label rotation angle (radians)

// Per-vertex (constant)
in vec2 a_quadCorner;           // [-1,-1], [1,-1], [-1,1], [1,1]

out vec2 v_texCoord;

`.concat(Ze,`
`).concat(yt,`
`).concat(Ut,`
`).concat(Ts,`
`).concat(Or,`

void main() {
  int nodeIdx = int(a_nodeIndex);

  // Node data: (x, y, size, shapeId).
  vec4 nodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  vec2 nodePos = nodeData.xy;
  float nodeSize = nodeData.z;

  // Normalized edge distance from the shared frame texture (the frame-pass ran
  // the SDF search once; we just read the result).
  float edgeDist = readFrameTexel(u_nodeFrameTexture, u_nodeFrameTextureWidth, nodeIdx).r;

  // Per-node label rotation alignment: 0 = viewport, 1 = label turns with camera.
  float labelRotation = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx).g;

  vec3 nodeClip = u_matrix * vec3(nodePos, 1.0);

  // Node radius in physical pixels (matches label/background).
  float matrixScaleX = length(vec2(u_matrix[0][0], u_matrix[1][0]));
  float nodeRadiusGraphSpace = nodeSize * u_correctionRatio / u_sizeRatio * 2.0;
  float nodeRadiusPixels = nodeRadiusGraphSpace * matrixScaleX * u_resolution.x / 2.0;

  // CSS-px inputs -> physical px, scaled by the zoom-dependent label ratio, so
  // the attachment stays glued to the label box exactly as the label scales.
  float zoomScale = u_zoomLabelSizeRatio;
  vec2 labelHalf = vec2(a_labelWidth, a_labelHeight) * 0.5 * zoomScale * u_pixelRatio;
  vec2 attachHalf = a_attachmentSize * 0.5 * zoomScale * u_pixelRatio;
  float gap = `).concat(lt.toFixed(1),` * zoomScale * u_pixelRatio;
  float labelMargin = u_labelMargin * zoomScale * u_pixelRatio;

  // Graph-aligned labels add the camera angle so the attachment orbits with the box.
  mat2 labelRotMat = rotate2D(a_labelAngle - labelRotation * u_cameraAngle);

  // Label box center relative to the node center (pre-rotation). The shape-aware
  // edge distance comes from the frame texture, so placement matches the label.
  vec2 boxCenter = vec2(0.0);
  if (a_positionMode < 4.0) {
    float labelStart = nodeRadiusPixels * edgeDist + labelMargin;
    float textHalf = a_textHeight * 0.5 * zoomScale * u_pixelRatio;
    boxCenter = labelBoxCenter(a_positionMode, labelStart, labelHalf, textHalf);
  }

  // Horizontal anchor of below/above attachments tracks the label position, so
  // the attachment hangs from the label edge nearest the node (or is centered
  // when the label itself is node-centered): right->left, left->right, else center.
  float anchorX = 0.0;
  if (a_positionMode < 0.5) anchorX = -labelHalf.x + attachHalf.x;       // right label
  else if (a_positionMode < 1.5) anchorX = labelHalf.x - attachHalf.x;   // left label

  // Attachment center relative to the box (pre-rotation, Y-down). This offset
  // depends only on the box, the gap and the attachment size — never the shape.
  vec2 attachCenter;
  if (a_attachmentPlacement < 0.5) {
    // below
    attachCenter = boxCenter + vec2(anchorX, labelHalf.y + gap + attachHalf.y);
  } else if (a_attachmentPlacement < 1.5) {
    // above
    attachCenter = boxCenter + vec2(anchorX, -(labelHalf.y + gap + attachHalf.y));
  } else if (a_attachmentPlacement < 2.5) {
    // left, top-aligned
    attachCenter = boxCenter + vec2(-(labelHalf.x + gap + attachHalf.x), -labelHalf.y + attachHalf.y);
  } else {
    // right, top-aligned
    attachCenter = boxCenter + vec2(labelHalf.x + gap + attachHalf.x, -labelHalf.y + attachHalf.y);
  }

  // Rotate the whole assembly by the label angle, around the node center.
  vec2 rotatedCenter = labelRotMat * attachCenter;
  vec2 cornerOffset = labelRotMat * (a_quadCorner * attachHalf);

  // Node center in screen px (Y-down).
  vec2 nodeScreen = vec2(
    (nodeClip.x + 1.0) * u_resolution.x,
    (1.0 - nodeClip.y) * u_resolution.y
  ) * 0.5;

  // Snap node center to the pixel grid so label/backdrop/attachment move as one.
  vec2 snapDelta = (round(nodeScreen) - nodeScreen) * u_labelPixelSnapping;

  // Snap the quad's top-left to integer pixels so atlas texels map 1:1.
  vec2 centerScreen = nodeScreen + rotatedCenter + snapDelta;
  vec2 topLeft = centerScreen - attachHalf;
  topLeft = mix(topLeft, round(topLeft), u_labelPixelSnapping);
  centerScreen = topLeft + attachHalf;

  vec2 vertexScreen = centerScreen + cornerOffset;
  gl_Position = vec4(
    vertexScreen.x * 2.0 / u_resolution.x - 1.0,
    1.0 - vertexScreen.y * 2.0 / u_resolution.y,
    0.0, 1.0
  );

  vec2 texOrigin = a_atlasRect.xy / u_atlasSize;
  vec2 texSize = a_atlasRect.zw / u_atlasSize;
  vec2 uv = (a_quadCorner + 1.0) / 2.0;
  v_texCoord = texOrigin + uv * texSize;
}
`);return a}var Yc=`#version 300 es
precision highp float;

uniform sampler2D u_atlasTexture;

in vec2 v_texCoord;

layout(location = 0) out vec4 fragColor;
#ifdef PICKING_MODE
layout(location = 1) out vec4 pickColor;
#endif

void main() {
  // Canvas textures are premultiplied; output directly for (ONE, 1-SRC_ALPHA) blending
  vec4 color = texture(u_atlasTexture, v_texCoord);
  if (color.a < 0.01) discard;
  fragColor = color;
#ifdef PICKING_MODE
  pickColor = vec4(0.0); // Attachments are not pickable
#endif
}
`;function Zc(a,n,e,t){var r,i,o=t.label,s=o===void 0?{}:o,l=(r=s.margin)!==null&&r!==void 0?r:Bt,d=(i=s.zoomToLabelSizeRatioFunction)!==null&&i!==void 0?i:function(){return 1},u=Kc(),f=Yc,g=(function(h){function p(){var y;J(this,p);for(var m=arguments.length,v=new Array(m),b=0;b<m;b++)v[b]=arguments[b];return y=ce(this,p,[].concat(v)),w(y,"totalCount",0),w(y,"bufferCapacity",0),y}return he(p,h),ee(p,[{key:"getDefinition",value:function(){var m=WebGL2RenderingContext,v=m.FLOAT,b=m.TRIANGLE_STRIP;return{VERTICES:4,VERTEX_SHADER_SOURCE:u,FRAGMENT_SHADER_SOURCE:f,METHOD:b,UNIFORMS:["u_matrix","u_resolution","u_labelPixelSnapping","u_sizeRatio","u_correctionRatio","u_cameraAngle","u_pixelRatio","u_labelMargin","u_zoomLabelSizeRatio","u_nodeDataTexture","u_nodeDataTextureWidth","u_nodeFrameTexture","u_nodeFrameTextureWidth","u_atlasTexture"],ATTRIBUTES:[{name:"a_nodeIndex",size:1,type:v},{name:"a_atlasRect",size:4,type:v},{name:"a_attachmentSize",size:2,type:v},{name:"a_positionMode",size:1,type:v},{name:"a_attachmentPlacement",size:1,type:v},{name:"a_labelWidth",size:1,type:v},{name:"a_labelHeight",size:1,type:v},{name:"a_textHeight",size:1,type:v},{name:"a_labelAngle",size:1,type:v}],CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:v}],CONSTANT_DATA:[[-1,-1],[1,-1],[-1,1],[1,1]]}}},{key:"processAttachment",value:function(m,v){var b=this.floats,_=m*this.STRIDE;b[_++]=v.nodeIndex,b[_++]=v.atlasX,b[_++]=v.atlasY,b[_++]=v.atlasW,b[_++]=v.atlasH,b[_++]=v.attachWidth,b[_++]=v.attachHeight,b[_++]=v.positionMode,b[_++]=v.attachmentPlacement,b[_++]=v.labelWidth,b[_++]=v.labelHeight,b[_++]=v.textHeight,b[_++]=v.labelAngle}},{key:"setUniforms",value:function(m,v){var b=v.gl,_=v.uniformLocations;b.uniformMatrix3fv(_.u_matrix,!1,m.matrix),b.uniform2f(_.u_resolution,m.width*m.pixelRatio,m.height*m.pixelRatio),b.uniform1f(_.u_labelPixelSnapping,m.labelPixelSnapping),b.uniform1f(_.u_sizeRatio,m.sizeRatio),b.uniform1f(_.u_correctionRatio,m.correctionRatio),b.uniform1f(_.u_cameraAngle,m.cameraAngle),b.uniform1f(_.u_pixelRatio,m.pixelRatio),b.uniform1f(_.u_labelMargin,p.labelMargin),b.uniform1f(_.u_zoomLabelSizeRatio,1/d(m.zoomRatio)),b.uniform1i(_.u_nodeDataTexture,m.nodeDataTextureUnit),b.uniform1i(_.u_nodeDataTextureWidth,m.nodeDataTextureWidth),b.uniform1i(_.u_nodeFrameTexture,m.nodeFrameTextureUnit),b.uniform1i(_.u_nodeFrameTextureWidth,m.nodeFrameTextureWidth),b.uniform1i(_.u_atlasTexture,xn)}},{key:"reallocateAttachments",value:function(m){this.totalCount=m,m>this.bufferCapacity&&(this.bufferCapacity=Math.max(m,Math.ceil(this.bufferCapacity*1.5)||10),ye(p,"reallocate",this,3)([this.bufferCapacity]))}},{key:"hasNothingToRender",value:function(){return this.totalCount===0}},{key:"drawWebGL",value:function(m,v){var b=v.gl;this.totalCount!==0&&b.drawArraysInstanced(m,0,this.VERTICES,this.totalCount)}}])})(_t);return w(g,"labelMargin",l),new g(a,n,e)}var ot=5;function Aa(a,n){return[].concat(X(n),X(a.map(function(e){var t;return{attributes:(t=e.attributes)!==null&&t!==void 0?t:[]}})))}function Ht(a,n){var e=Oe(Aa(a,n)),t=new Set(a.flatMap(function(d){var u;return(u=d.attributes)!==null&&u!==void 0?u:[]}).map(function(d){return d.name.replace(/^a_/,"")})),r={},i={},o=O(t),s;try{for(o.s();!(s=o.n()).done;){var l=s.value;r[l]=e.offsets[l],i[l]=e.specs[l]}}catch(d){o.e(d)}finally{o.f()}return W(W({},e),{},{offsets:r,specs:i})}function Qc(a,n){var e=new Set(["u_matrix","u_sizeRatio","u_correctionRatio","u_cameraAngle","u_pickingPadding","u_nodeDataTexture","u_layerAttributeTexture"]),t=new Set,r=a.flatMap(function(h){return h.uniforms}).filter(function(h){return e.has(h.name)||t.has(h.name)?!1:(t.add(h.name),!0)}).map(function(h){return"uniform ".concat(h.type," ").concat(h.name,";")}).join(`
`),i=n.flatMap(function(h){return h.uniforms}).filter(function(h){return e.has(h.name)||t.has(h.name)?!1:(t.add(h.name),!0)}).map(function(h){return"uniform ".concat(h.type," ").concat(h.name,";")}).join(`
`),o=Aa(a,n),s=new Set,l=o.flatMap(function(h){return h.attributes}).filter(function(h){var p=h.name.replace(/^a_/,"");return s.has(p)?!1:(s.add(p),!0)}).map(function(h){var p=h.name.replace(/^a_/,""),y=h.size===1?"float":"vec".concat(h.size);return"out ".concat(y," v_").concat(p,";")}).join(`
`),d=Ot(Oe(o),{varPrefix:"layer",baseTexelExpr:"nodeIdx * u_layerAttributeTexelsPerNode",textureWidthUniform:"u_layerAttributeTextureWidth",textureSamplerUniform:"u_layerAttributeTexture"}),u=d.fetchCode,f=d.varyingAssignments,g=`#version 300 es

// Standard node attributes (per instance) - minimal buffer usage
in float a_nodeIndex;  // Index into node data texture AND layer attribute texture
in vec4 a_id;          // Node ID for picking
in float a_opacity;    // Node opacity, applied once to the final fragment

// Constant attributes (per vertex, same for all instances)
in vec2 a_quadCorner;  // (-1,-1), (1,-1), (1,1), (-1,1) for quad corners

// Standard uniforms
uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
#ifdef PICKING_MODE
uniform float u_pickingPadding;
#endif
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;

// Layer attribute texture uniforms
uniform sampler2D u_layerAttributeTexture;
uniform int u_layerAttributeTextureWidth;
uniform int u_layerAttributeTexelsPerNode;

`.concat(r,`
`).concat(i,`

// Standard varyings
out vec2 v_uv;                    // Normalized coordinates [-1, 1]
out vec4 v_id;
out float v_opacity;
out float v_antialiasingWidth;    // Width for antialiasing in UV space
out float v_pixelSize;            // Node size in pixels (for pixel-mode borders)
out float v_pixelToUV;            // Conversion factor: multiply by this to convert screen pixels to UV units
out float v_shapeId;              // Shape ID for multi-shape programs

// Layer varyings
`).concat(l,`

// Node-data fetch helpers (geometry texel + rotation-flags texel)
`).concat(Ze,`
`).concat(yt,`

void main() {
  // Fetch node geometry: vec4(x, y, size, shapeId).
  int nodeIdx = int(a_nodeIndex);

  // Hidden nodes are flagged with a negative row by NodeProgram.process(). Push
  // the whole quad outside the clip volume: every vertex lands at the same
  // out-of-range position, so the primitive is fully clipped and rasterizes
  // nothing — neither to the frame buffer nor to the picking buffer.
  if (nodeIdx < 0) {
    gl_Position = vec4(2.0, 0.0, 0.0, 1.0);
    v_id = vec4(0.0);
    return;
  }

  vec4 nodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  vec2 a_position = nodeData.xy;
  float a_size = nodeData.z;
  v_shapeId = nodeData.w;  // Pass shape ID to fragment shader

  // Per-node rotation alignment: 0 = viewport (screen-upright), 1 = graph.
  float nodeRotation = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx).r;

`).concat(u,`

  // Calculate the actual size in pixels
  float size = a_size * u_correctionRatio / u_sizeRatio * 2.0;

  // In PICKING_MODE, inflate the quad by nodePickingPadding pixels on each side
  #ifdef PICKING_MODE
    float paddedSize = size + u_pickingPadding * u_correctionRatio;
    vec2 offset = a_quadCorner * paddedSize;
  #else
    vec2 offset = a_quadCorner * size;
  #endif
  // Counter-rotate the quad offset so viewport-aligned nodes stay upright as the
  // camera turns. Graph-aligned nodes (nodeRotation=1) skip it and turn with the
  // camera. The angle scales by (1 - nodeRotation) so both fall out of one path.
  {
    float ca = u_cameraAngle * (1.0 - nodeRotation);
    float c = cos(ca);
    float s = sin(ca);
    offset = mat2(c, s, -s, c) * offset;
  }
  vec2 position = a_position + offset;

  gl_Position = vec4(
    (u_matrix * vec3(position, 1)).xy,
    0,
    1
  );

  // In PICKING_MODE, UV is scaled beyond [-1, 1] to match the inflated quad
  #ifdef PICKING_MODE
    v_uv = a_quadCorner * (paddedSize / size);
  #else
    v_uv = a_quadCorner;
  #endif

  // Pass ID to fragment shader
  v_id = a_id;
  v_opacity = a_opacity;

  // Pass pixel size for layers that need pixel-mode calculations
  // Multiply by 2 because 'size' is half-width (offset from center), not full diameter
  v_pixelSize = size * 2.0;

  // Conversion factor from screen pixels to UV units
  // Same derivation as v_antialiasingWidth which represents ~1 pixel in UV space
  // P pixels in UV space = P * u_correctionRatio / size
  v_pixelToUV = u_correctionRatio / size;

  // We use an antialiasing width of 1px (so v_pixelToUV)
  v_antialiasingWidth = v_pixelToUV;

  // Pass layer attributes to fragment shader (fetched from texture)
`).concat(f,`
}
`);return g}function Jc(a,n,e){var t=arguments.length>3&&arguments[3]!==void 0?arguments[3]:!0,r=n.map(function(p,y){var m="layer_".concat(p.name),v=[].concat(X(p.attributes.map(function(b){return"v_".concat(b.name.replace(/^a_/,""))})),X(p.uniforms.map(function(b){return b.name}))).join(", ");return"  // Layer ".concat(y+1,": ").concat(p.name,`
  color = blendOver(color, `).concat(m,"(").concat(v,"));")}).join(`

`),i=new Set(["u_correctionRatio"]),o=new Set,s=a.flatMap(function(p){return p.uniforms}).filter(function(p){return i.has(p.name)||o.has(p.name)?!1:(o.add(p.name),!0)}).map(function(p){return"uniform ".concat(p.type," ").concat(p.name,";")}).join(`
`),l=n.flatMap(function(p){return p.uniforms}).filter(function(p){return i.has(p.name)||o.has(p.name)?!1:(o.add(p.name),!0)}).map(function(p){return"uniform ".concat(p.type," ").concat(p.name,";")}).join(`
`),d=new Set,u=Aa(a,n).flatMap(function(p){return p.attributes}).filter(function(p){var y=p.name.replace(/^a_/,"");return d.has(y)?!1:(d.add(y),!0)}).map(function(p){var y=p.name.replace(/^a_/,""),m=p.size===1?"float":"vec".concat(p.size);return"in ".concat(m," v_").concat(y,";")}).join(`
`),f=Gr(a),g=Gc(a,e),h=`#version 300 es
precision highp float;

// Standard varyings
in vec2 v_uv;
in vec4 v_id;
in float v_opacity;
in float v_antialiasingWidth;
in float v_pixelSize;
in float v_pixelToUV;
in float v_shapeId;  // Shape ID for multi-shape programs

// Standard uniforms (needed for some layer calculations like pixel-mode borders)
uniform float u_correctionRatio;
#ifdef PICKING_MODE
uniform float u_pickingPadding;
#endif

// Shape uniforms
`.concat(s,`

// Layer uniforms
`).concat(l,`

// Layer varyings
`).concat(u,`

// Fragment output (single target - picking handled via separate pass)
out vec4 fragColor;

// LayerContext struct - provides rendering context to all layers
struct LayerContext {
  float sdf;             // Signed distance from shape boundary (negative inside)
  vec2 uv;               // UV coordinates [-1, 1], center at (0,0)
  float shapeSize;       // Effective shape size (~diameter) in UV space (1.0 - aaWidth)
  float shapeHalfSize;   // Effective shape half size (~radius) in UV space
  float pixelSize;       // Node full size (~diameter) in screen pixels
  float aaWidth;         // Anti-aliasing width for smooth transitions
  float correctionRatio; // Scaling factor for consistent rendering across zoom levels
  float pixelToUV;       // Conversion factor: multiply screen pixels by this to get UV units
  float inradiusFactor;  // Ratio of inradius to circumradius (shape depth factor)
};

LayerContext context;  // Global instance, populated before layer calls

// Alpha "over" compositing for layer blending
vec4 blendOver(vec4 bg, vec4 fg) {
  float a = fg.a;
  return vec4(mix(bg.rgb, fg.rgb, a), bg.a + a * (1.0 - bg.a));
}

// SDF shape functions
`).concat(f,`

// Shape selector function (sets context.sdf and context.inradiusFactor)
`).concat(g,`

// Layer functions
`).concat(n.map(function(p){return p.glsl}).join(`

`),`

void main() {
  // 1. Setup LayerContext (available to all layer functions)
  context.shapeSize = 1.0 - v_antialiasingWidth;
  context.shapeHalfSize = context.shapeSize * 0.5;
  context.pixelSize = v_pixelSize;
  context.uv = v_uv;
  context.aaWidth = v_antialiasingWidth;
  context.correctionRatio = u_correctionRatio;
  context.pixelToUV = v_pixelToUV;

  // Query shape SDF based on shapeId (sets context.sdf and context.inradiusFactor)
  queryNodeSDF(int(v_shapeId), v_uv, context.shapeSize);

  // 2. Early discard for pixels fully outside the shape (with AA margin)
  // In PICKING_MODE, allow extra fragments up to the picking padding distance
  #ifdef PICKING_MODE
    if (context.sdf > u_pickingPadding * v_pixelToUV + context.aaWidth) discard;
  #else
    if (context.sdf > context.aaWidth) discard;
  #endif

  // 3. Apply layers sequentially with "over" compositing
  vec4 color = vec4(0.0);

`).concat(r,`

  #ifdef PICKING_MODE
    // Picking pass: output node ID for pixels within the picking area.
    if (context.sdf > u_pickingPadding * v_pixelToUV) discard;
    fragColor = v_id;
  #else
`).concat(t?`    // Visual pass: apply antialiasing at shape boundary, node opacity once
    // smoothstep provides smooth transition from opaque to transparent
    float alpha = smoothstep(context.aaWidth, -context.aaWidth, context.sdf) * v_opacity;`:`    // Visual pass: hard-edged (no anti-aliasing gradient) shape boundary, node opacity applied once
    float alpha = (context.sdf < 0.0 ? 1.0 : 0.0) * v_opacity;`,`
    // Mix with transparent to fade both color AND alpha together (avoids bright halo)
    fragColor = mix(vec4(0.0), color, alpha);
  #endif
}
`);return h}function eh(a,n){var e=new Set;return e.add("u_matrix"),e.add("u_sizeRatio"),e.add("u_correctionRatio"),e.add("u_cameraAngle"),e.add("u_pickingPadding"),e.add("u_nodeDataTexture"),e.add("u_nodeDataTextureWidth"),e.add("u_layerAttributeTexture"),e.add("u_layerAttributeTextureWidth"),e.add("u_layerAttributeTexelsPerNode"),a.forEach(function(t){t.uniforms.forEach(function(r){return e.add(r.name)})}),n.forEach(function(t){t.uniforms.forEach(function(r){return e.add(r.name)})}),Array.from(e)}function th(a){var n=WebGL2RenderingContext,e=n.UNSIGNED_BYTE,t=n.FLOAT;return[{name:"a_nodeIndex",size:1,type:t},{name:"a_id",size:4,type:e,normalized:!0},{name:"a_opacity",size:1,type:t}]}function ls(a){var n=a.shapes,e=a.layers,t=a.shapeGlobalIds,r=a.antialias,i=r===void 0?!0:r;return{vertexShader:Qc(n,e),fragmentShader:Jc(n,e,t,i),uniforms:eh(n,e),attributes:th()}}function ws(a,n,e){var t=Ht(a,n),r=t.specs;return Object.keys(r).map(function(i){return"flat ".concat(e," ").concat(r[i].size===1?"float":"vec".concat(r[i].size)," v_").concat(i,";")}).join(`
`)}function nh(a){var n,e,t=a.shapes,r=a.layers,i=a.shapeGlobalIds,o=Ot(Ht(t,r),{varPrefix:"nodeAttr",baseTexelExpr:"nodeIdx * u_layerAttributeTexelsPerNode",textureWidthUniform:"u_layerAttributeTextureWidth",textureSamplerUniform:"u_layerAttributeTexture"}),s=t.length===1?"float inradiusFactor = ".concat(ge((n=t[0].inradiusFactor)!==null&&n!==void 0?n:1),";"):"float inradiusFactor = ".concat(ge((e=t[0].inradiusFactor)!==null&&e!==void 0?e:1),`;
  switch (int(shapeId)) {
`).concat(t.map(function(d,u){var f,g=i?i[u]:u;return"    case ".concat(g,": inradiusFactor = ").concat(ge((f=d.inradiusFactor)!==null&&f!==void 0?f:1),"; break;")}).join(`
`),`
    default: break;
  }`),l=`#version 300 es

in float a_nodeIndex;
in float a_labelWidth;
in float a_labelHeight;
in float a_textHeight;
in float a_positionMode;
in float a_labelAngle;
in vec4 a_backdropColor;
in vec4 a_backdropShadowColor;
in float a_backdropShadowBlur;
in float a_backdropPadding;
in vec4 a_backdropBorderColor;
in vec4 a_backdropExtra; // [borderWidth, cornerRadius, labelPadding, area]
in vec2 a_labelBoxOffset;
in vec2 a_quadCorner;

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
uniform vec2 u_resolution;
uniform float u_pixelRatio;
uniform float u_labelMargin;
uniform float u_zoomLabelSizeRatio;
uniform float u_labelPixelSnapping;
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_nodeFrameTexture;
uniform int u_nodeFrameTextureWidth;
uniform sampler2D u_layerAttributeTexture;
uniform int u_layerAttributeTextureWidth;
uniform int u_layerAttributeTexelsPerNode;

out vec2 v_uv;
out vec2 v_nodeCenter;
out float v_nodeRadius;
out vec2 v_labelCenter;
out vec2 v_labelHalfSize;
out float v_aaWidth;
out float v_shapeId;
out float v_nodeRotation;
out float v_labelAngle;
out vec4 v_backdropColor;
out vec4 v_backdropShadowColor;
out float v_backdropShadowBlur;
out float v_backdropPadding;
out vec4 v_backdropBorderColor;
out float v_backdropBorderWidth;
out float v_backdropCornerRadius;
out float v_backdropArea;
`.concat(ws(t,r,"out"),`

`).concat(Ze,`
`).concat(yt,`
`).concat(Ut,`

void main() {
  int nodeIdx = int(a_nodeIndex);
`).concat(o.fetchCode,`
`).concat(o.varyingAssignments,`

  // Node data: (x, y, size, shapeId). shapeId (global) is forwarded to the
  // fragment shader, which keeps the shape SDF for the outline.
  vec4 nodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  vec2 nodePosition = nodeData.xy;
  float nodeSize = nodeData.z;
  float shapeId = nodeData.w;

  // Per-node rotation alignment (0 = viewport, 1 = graph). nodeRotation drives
  // the fragment's shape outline; labelRotation turns the label box with camera.
  vec4 nodeFlags = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  float nodeRotation = nodeFlags.r;
  float labelRotation = nodeFlags.g;
  v_nodeRotation = nodeRotation;

  `).concat(_s,`
  // CSS pixel attributes are multiplied by u_pixelRatio to match nodeRadiusPixels,
  // which is already in physical pixels (nodeRadiusNDC * u_resolution.x / 2.0).
  float padding = a_backdropPadding * u_pixelRatio;
  float shadowBlur = a_backdropShadowBlur * u_pixelRatio;
  // Unpack a_backdropExtra: [borderWidth, cornerRadius, labelPadding, area]
  float borderWidth = a_backdropExtra.x * u_pixelRatio;
  float cornerRadius = a_backdropExtra.y * u_pixelRatio;
  float labelPad = a_backdropExtra.z * u_pixelRatio;
  float backdropArea = a_backdropExtra.w;
  // Use 2x shadowBlur so the Gaussian fully decays before the quad edge
  float totalExpansion = shadowBlur * 2.0 + borderWidth;
  float enlargedRadius = nodeRadiusPixels + padding;

  // Circumscribed radius for the quad bounds. Non-circular shapes reach past
  // their inradius out to their circumradius (= enlargedRadius / inradiusFactor),
  // in any direction once rotated. The axis-aligned quad must contain that, or
  // the fill/shadow gets clipped (square corners, triangle tip, etc.).
  `).concat(s,`
  float boundRadius = enlargedRadius / inradiusFactor;

  // Apply zoom-dependent label size scaling
  float zoomScale = u_zoomLabelSizeRatio;
  float labelW = a_labelWidth * zoomScale * u_pixelRatio;
  float labelH = a_labelHeight * zoomScale * u_pixelRatio;
  float labelMargin = u_labelMargin * zoomScale * u_pixelRatio;

  // Only apply labelPad when a label is actually present
  float effectiveLabelPad = labelW > 0.0 ? labelPad : 0.0;
  vec2 labelHalfSize = vec2(labelW * 0.5 + effectiveLabelPad, labelH * 0.5 + effectiveLabelPad);
  vec2 labelOffset = vec2(0.0);

  // Effective label angle: intrinsic angle plus the camera angle when the label
  // is graph-aligned, so the box orbits the node in lockstep with the frame-pass.
  float labelAngle = a_labelAngle - labelRotation * u_cameraAngle;
  float la_c = cos(labelAngle);
  float la_s = sin(labelAngle);
  mat2 labelRotMat = mat2(la_c, -la_s, la_s, la_c);

  vec3 nodeClip = u_matrix * vec3(nodePosition, 1.0);
  vec2 snapDelta = vec2(0.0);

  if (labelW > 0.0) {
    // labelW > 0.0 means this node's label is displayed, so the frame-pass wrote
    // its edge distance this frame.
    float edgeDistPixels = nodeRadiusPixels * readFrameTexel(u_nodeFrameTexture, u_nodeFrameTextureWidth, nodeIdx).r;
    // labelMargin matches the label shader's margin (gap from node edge to text)
    float labelStart = edgeDistPixels + labelMargin;
    // Above/below center on the actual glyph height, not the font line box, so
    // the box stays aligned with the rendered text (matches labelBoxCenter()).
    float textHalf = a_textHeight * zoomScale * u_pixelRatio * 0.5;

    // Snap node center to pixel grid so label/backdrop/attachment move as a unit
    vec2 nodeScreen = vec2(
      (nodeClip.x + 1.0) * u_resolution.x,
      (1.0 - nodeClip.y) * u_resolution.y
    ) * 0.5;
    snapDelta = (round(nodeScreen) - nodeScreen) * u_labelPixelSnapping;

    if (a_positionMode < 0.5) {
      // Right: box spans from node center to text end + padding
      float boxRightEdge = labelStart + labelW + labelPad;
      labelOffset = vec2(boxRightEdge * 0.5, 0.0);
      labelHalfSize.x = boxRightEdge * 0.5;
    } else if (a_positionMode < 1.5) {
      // Left: mirror of right
      float boxLeftEdge = labelStart + labelW + labelPad;
      labelOffset = vec2(-boxLeftEdge * 0.5, 0.0);
      labelHalfSize.x = boxLeftEdge * 0.5;
    } else if (a_positionMode < 2.5) {
      // Above: text bottom at labelStart, centered horizontally
      labelOffset = vec2(0.0, -(labelStart + textHalf));
    } else if (a_positionMode < 3.5) {
      // Below: text top at labelStart, centered horizontally
      labelOffset = vec2(0.0, labelStart + textHalf);
    }
    // over (>=4): labelOffset stays (0,0) — text centered on the node.

    // The attachment-cover shift is in label space (like the attachment itself),
    // so rotate it together with the position offset — otherwise the box drifts
    // off the attachment as the label angle grows.
    labelOffset = labelRotMat * (labelOffset + a_labelBoxOffset * zoomScale * u_pixelRatio);
  }

  // For node-only mode, zero out label dimensions
  if (backdropArea > 0.5 && backdropArea < 1.5) {
    labelHalfSize = vec2(0.0);
    labelOffset = vec2(0.0);
  }

  vec2 minBound, maxBound;

  bool hasLabelBounds = labelW > 0.0 && (backdropArea > 1.5 || backdropArea < 0.5);

  if (hasLabelBounds) {
    // Union with label bounds (area=both) or label-only bounds (area=label)
    vec2 labelMin, labelMax;

    if (a_labelAngle != 0.0) {
      vec2 corner1 = labelOffset + labelRotMat * vec2(-labelHalfSize.x, -labelHalfSize.y);
      vec2 corner2 = labelOffset + labelRotMat * vec2(labelHalfSize.x, -labelHalfSize.y);
      vec2 corner3 = labelOffset + labelRotMat * vec2(labelHalfSize.x, labelHalfSize.y);
      vec2 corner4 = labelOffset + labelRotMat * vec2(-labelHalfSize.x, labelHalfSize.y);
      labelMin = min(min(corner1, corner2), min(corner3, corner4));
      labelMax = max(max(corner1, corner2), max(corner3, corner4));
    } else {
      labelMin = labelOffset - labelHalfSize;
      labelMax = labelOffset + labelHalfSize;
    }

    if (backdropArea > 1.5) {
      // Label-only: bounds from label rect only
      minBound = labelMin - totalExpansion;
      maxBound = labelMax + totalExpansion;
    } else {
      // Both: union of node + label
      minBound = min(-vec2(boundRadius), labelMin) - totalExpansion;
      maxBound = max(vec2(boundRadius), labelMax) + totalExpansion;
    }
  } else {
    // Node-only or no visible label
    float totalRadius = boundRadius + totalExpansion;
    minBound = -vec2(totalRadius);
    maxBound = vec2(totalRadius);
  }

  vec2 quadSize = maxBound - minBound;
  vec2 quadCenter = (minBound + maxBound) * 0.5;

  vec2 localPos = quadCenter + a_quadCorner * quadSize * 0.5 + snapDelta;
  vec2 ndcOffset = localPos * 2.0 / u_resolution;
  ndcOffset.y = -ndcOffset.y;

  gl_Position = vec4(nodeClip.xy + ndcOffset, 0.0, 1.0);

  v_uv = localPos;
  v_nodeCenter = vec2(0.0);
  v_nodeRadius = nodeRadiusPixels;
  v_labelCenter = labelOffset;
  v_labelHalfSize = labelHalfSize;
  v_aaWidth = 1.0;
  v_shapeId = shapeId;
  v_labelAngle = labelAngle;
  v_backdropColor = a_backdropColor;
  v_backdropShadowColor = a_backdropShadowColor;
  v_backdropShadowBlur = a_backdropShadowBlur;
  v_backdropPadding = a_backdropPadding;
  v_backdropBorderColor = a_backdropBorderColor;
  v_backdropBorderWidth = borderWidth;
  v_backdropCornerRadius = cornerRadius;
  v_backdropArea = backdropArea;
}
`);return l}function ah(a){var n=a.shapes,e=a.layers,t=a.shapeGlobalIds,r=Gr(n),i=_n(n).map(function(g){return"uniform ".concat(g.type," ").concat(g.name,";")}).join(`
`),o=function(h){return xa(h,"nodeUV","1.0")},s;if(n.length===1)s="float nodeSdfNormalized = ".concat(o(n[0]),";");else{var l=n.map(function(g,h){var p=t?t[h]:h;return"    case ".concat(p,": nodeSdfNormalized = ").concat(o(g),"; break;")}).join(`
`),d=o(n[0]);s=`float nodeSdfNormalized;
  int shapeId = int(v_shapeId);
  switch (shapeId) {
`.concat(l,`
    default: nodeSdfNormalized = `).concat(d,`;
  }`)}var u=`float effectiveRadius = max(enlargedRadius - cornerRadius, 0.01);
  float ca = u_cameraAngle * v_nodeRotation;
  float ca_c = cos(ca);
  float ca_s = sin(ca);
  vec2 rotatedScreenUV = mat2(ca_c, -ca_s, ca_s, ca_c) * screenUV;
  vec2 nodeUV = vec2(rotatedScreenUV.x, -rotatedScreenUV.y) / effectiveRadius;`,f=`#version 300 es
precision highp float;

in vec2 v_uv;
in vec2 v_nodeCenter;
in float v_nodeRadius;
in vec2 v_labelCenter;
in vec2 v_labelHalfSize;
in float v_aaWidth;
in float v_shapeId;
in float v_nodeRotation;
in float v_labelAngle;
in vec4 v_backdropColor;
in vec4 v_backdropShadowColor;
in float v_backdropShadowBlur;
in float v_backdropPadding;
in vec4 v_backdropBorderColor;
in float v_backdropBorderWidth;
in float v_backdropCornerRadius;
in float v_backdropArea;
`.concat(ws(n,e,"in"),`

uniform float u_cameraAngle;
`).concat(i,`

layout(location = 0) out vec4 fragColor;
layout(location = 1) out vec4 fragPicking;

`).concat(r,`
`).concat(zc,`
`).concat(Oc,`
`).concat(Wc,`
`).concat(Bc,`

void main() {
  vec4 backdropColor = v_backdropColor;
  vec4 shadowColor = v_backdropShadowColor;
  float shadowBlur = v_backdropShadowBlur;
  float padding = v_backdropPadding;
  vec4 borderColor = v_backdropBorderColor;
  float borderWidth = v_backdropBorderWidth;
  float cornerRadius = v_backdropCornerRadius;

  float enlargedRadius = v_nodeRadius + padding;
  vec2 screenUV = v_uv - v_nodeCenter;
  `).concat(u,`

  // Query the correct shape SDF based on shapeId
  `).concat(s,`
  float nodeSdfPixels = nodeSdfNormalized * effectiveRadius - cornerRadius;

  // Label SDF with optional corner radius and rotation
  float labelSdfPixels;
  if (v_labelHalfSize.x > 0.0) {
    vec2 labelP = v_uv - v_labelCenter;
    labelSdfPixels = sdfRoundedRotatedBox(labelP, v_labelHalfSize, v_labelAngle, cornerRadius);
  } else {
    labelSdfPixels = 10000.0;
  }

  // Select area: 0=both, 1=node, 2=label
  float combinedSdf;
  if (v_backdropArea > 1.5) {
    combinedSdf = labelSdfPixels;
  } else if (v_backdropArea > 0.5) {
    combinedSdf = nodeSdfPixels;
  } else {
    combinedSdf = min(nodeSdfPixels, labelSdfPixels);
  }

  // Fill + border composite
  float outerEdge = smoothstep(v_aaWidth, -v_aaWidth, combinedSdf);
  vec4 background;
  if (borderWidth > 0.5) {
    float innerEdge = smoothstep(v_aaWidth, -v_aaWidth, combinedSdf + borderWidth);
    float fillAlpha = innerEdge * backdropColor.a;
    vec4 fill = vec4(backdropColor.rgb * fillAlpha, fillAlpha);
    float borderAlpha = (outerEdge - innerEdge) * borderColor.a;
    vec4 border = vec4(borderColor.rgb * borderAlpha, borderAlpha);
    background = fill + border * (1.0 - fill.a);
  } else {
    float fillAlpha = outerEdge * backdropColor.a;
    background = vec4(backdropColor.rgb * fillAlpha, fillAlpha);
  }

  // Gaussian-like shadow falloff (mimics canvas shadowBlur)
  vec4 shadow = vec4(0.0);
  float sigma = shadowBlur / 2.5;
  if (sigma > 0.001) {
    float shadowDist = max(0.0, combinedSdf);
    float shadowAlpha = exp(-(shadowDist * shadowDist) / (2.0 * sigma * sigma)) * shadowColor.a;
    shadow = vec4(shadowColor.rgb * shadowAlpha, shadowAlpha);
  }

  fragColor = background + shadow * (1.0 - background.a);
  fragPicking = vec4(0.0);
}
`);return f}function rh(a){var n=["u_matrix","u_sizeRatio","u_correctionRatio","u_cameraAngle","u_resolution","u_pixelRatio","u_labelMargin","u_zoomLabelSizeRatio","u_labelPixelSnapping","u_nodeDataTexture","u_nodeDataTextureWidth","u_nodeFrameTexture","u_nodeFrameTextureWidth","u_layerAttributeTexture","u_layerAttributeTextureWidth","u_layerAttributeTexelsPerNode"],e=O(_n(a)),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;n.includes(r.name)||n.push(r.name)}}catch(i){e.e(i)}finally{e.f()}return n}function ih(a){return{vertexShader:nh(a),fragmentShader:ah(a),uniforms:rh(a.shapes)}}function oh(a,n,e,t){var r,i,o=t.label,s=o===void 0?{}:o,l=t.shapes,d=t.layers,u=t.getAttributeTexture,f=t.shapeGlobalIds;if(l.length===0)throw new Error("createBackdropProgram: at least one shape must be provided in 'shapes'");var g=(r=s.margin)!==null&&r!==void 0?r:5,h=(i=s.zoomToLabelSizeRatioFunction)!==null&&i!==void 0?i:function(){return 1},p={shapes:l,layers:d,shapeGlobalIds:f},y=ih(p),m=(function(v){function b(){var _;J(this,b);for(var x=arguments.length,T=new Array(x),S=0;S<x;S++)T[S]=arguments[S];return _=ce(this,b,[].concat(T)),w(_,"totalBackdropCount",0),w(_,"bufferCapacity",0),_}return he(b,v),ee(b,[{key:"getDefinition",value:function(){var x=WebGL2RenderingContext,T=x.FLOAT,S=x.TRIANGLE_STRIP;return{VERTICES:4,VERTEX_SHADER_SOURCE:y.vertexShader,FRAGMENT_SHADER_SOURCE:y.fragmentShader,METHOD:S,UNIFORMS:y.uniforms,ATTRIBUTES:[{name:"a_nodeIndex",size:1,type:T},{name:"a_labelWidth",size:1,type:T},{name:"a_labelHeight",size:1,type:T},{name:"a_textHeight",size:1,type:T},{name:"a_positionMode",size:1,type:T},{name:"a_labelAngle",size:1,type:T},{name:"a_backdropColor",size:4,type:T},{name:"a_backdropShadowColor",size:4,type:T},{name:"a_backdropShadowBlur",size:1,type:T},{name:"a_backdropPadding",size:1,type:T},{name:"a_backdropBorderColor",size:4,type:T},{name:"a_backdropExtra",size:4,type:T},{name:"a_labelBoxOffset",size:2,type:T}],CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:T}],CONSTANT_DATA:[[-1,-1],[1,-1],[-1,1],[1,1]]}}},{key:"processBackdrop",value:function(x,T){var S=this.floats,A=this.STRIDE,E=x*A;S[E++]=T.nodeIndex,S[E++]=T.labelWidth,S[E++]=T.labelHeight,S[E++]=T.textHeight,S[E++]=Wt[T.position],S[E++]=T.labelAngle,S[E++]=T.backdropColor[0],S[E++]=T.backdropColor[1],S[E++]=T.backdropColor[2],S[E++]=T.backdropColor[3],S[E++]=T.backdropShadowColor[0],S[E++]=T.backdropShadowColor[1],S[E++]=T.backdropShadowColor[2],S[E++]=T.backdropShadowColor[3],S[E++]=T.backdropShadowBlur,S[E++]=T.backdropPadding,S[E++]=T.backdropBorderColor[0],S[E++]=T.backdropBorderColor[1],S[E++]=T.backdropBorderColor[2],S[E++]=T.backdropBorderColor[3],S[E++]=T.backdropBorderWidth,S[E++]=T.backdropCornerRadius,S[E++]=T.backdropLabelPadding,S[E++]=T.backdropArea,S[E++]=T.labelBoxOffset[0],S[E++]=T.labelBoxOffset[1]}},{key:"setUniforms",value:function(x,T){var S=T.gl,A=T.uniformLocations;S.uniformMatrix3fv(A.u_matrix,!1,x.matrix),S.uniform1f(A.u_sizeRatio,x.sizeRatio),S.uniform1f(A.u_correctionRatio,x.correctionRatio),S.uniform1f(A.u_cameraAngle,x.cameraAngle),S.uniform2f(A.u_resolution,x.width*x.pixelRatio,x.height*x.pixelRatio),S.uniform1f(A.u_pixelRatio,x.pixelRatio),S.uniform1f(A.u_labelMargin,b.labelMargin),S.uniform1f(A.u_zoomLabelSizeRatio,1/h(x.zoomRatio)),S.uniform1f(A.u_labelPixelSnapping,x.labelPixelSnapping),S.uniform1i(A.u_nodeDataTexture,x.nodeDataTextureUnit),S.uniform1i(A.u_nodeDataTextureWidth,x.nodeDataTextureWidth),S.uniform1i(A.u_nodeFrameTexture,x.nodeFrameTextureUnit),S.uniform1i(A.u_nodeFrameTextureWidth,x.nodeFrameTextureWidth);var E=u();A.u_layerAttributeTexture&&E&&(E.bind(ot),S.uniform1i(A.u_layerAttributeTexture,ot),S.uniform1i(A.u_layerAttributeTextureWidth,E.getTextureWidth()),S.uniform1i(A.u_layerAttributeTexelsPerNode,E.getTexelsPerItem()));var k=O(_n(l)),D;try{for(k.s();!(D=k.n()).done;){var C=D.value;this.setTypedUniform(C,T)}}catch(R){k.e(R)}finally{k.f()}}},{key:"hasNothingToRender",value:function(){return this.totalBackdropCount===0}},{key:"drawWebGL",value:function(x,T){var S=T.gl;this.totalBackdropCount!==0&&(this.isInstanced?S.drawArraysInstanced(x,0,this.VERTICES,this.totalBackdropCount):S.drawArrays(x,0,this.totalBackdropCount*this.VERTICES))}},{key:"reallocate",value:function(x){this.totalBackdropCount=x,x>this.bufferCapacity&&(this.bufferCapacity=Math.max(x,Math.ceil(this.bufferCapacity*1.5)||10),ye(b,"reallocate",this,3)([this.bufferCapacity]))}}])})(_t);return w(m,"labelMargin",g),new m(a,n,e)}var As=(function(a){function n(){var e;J(this,n);for(var t=arguments.length,r=new Array(t),i=0;i<t;i++)r[i]=arguments[i];return e=ce(this,n,[].concat(r)),w(e,"totalCharacterCount",0),w(e,"bufferCapacity",0),e}return he(n,a),ee(n,[{key:"processLabel",value:function(t,r,i){if(i.hidden||!i.text)return 0;for(var o=i.text,s=o.length,l=0;l<s;l++){var d=o[l];this.processCharacter(r+l,i,d,l)}return s}},{key:"hasNothingToRender",value:function(){return this.totalCharacterCount===0}},{key:"drawWebGL",value:function(t,r){var i=r.gl;this.totalCharacterCount!==0&&(this.isInstanced?i.drawArraysInstanced(t,0,this.VERTICES,this.totalCharacterCount):i.drawArrays(t,0,this.totalCharacterCount*this.VERTICES))}},{key:"reallocate",value:function(t){this.totalCharacterCount=t,t>this.bufferCapacity&&(this.bufferCapacity=Math.max(t,Math.ceil(this.bufferCapacity*1.5)||1e3),ye(n,"reallocate",this,3)([this.bufferCapacity]))}}])})(_t);function sh(){var a=`#version 300 es

in float a_nodeIndex;
in vec4 a_id;
in vec4 a_color;
in float a_labelWidth;
in float a_labelHeight;
in float a_textHeight;
in float a_positionMode;
in float a_labelAngle;
in float a_padding;
in vec2 a_quadCorner;

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
uniform vec2 u_resolution;
uniform float u_pixelRatio;
uniform float u_labelMargin;
uniform float u_zoomLabelSizeRatio;
uniform float u_labelPixelSnapping;
uniform float u_pickingPadding;
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_nodeFrameTexture;
uniform int u_nodeFrameTextureWidth;

out vec4 v_id;
out vec4 v_color;

`.concat(Ze,`
`).concat(yt,`
`).concat(Ut,`
`).concat(Ts,`

void main() {
  int nodeIdx = int(a_nodeIndex);

  // Node data: (x, y, size, shapeId).
  vec4 nodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  vec2 nodePosition = nodeData.xy;
  float nodeSize = nodeData.z;

  // Shape-aware edge distance, read once from the shared frame texture.
  float edgeDist = readFrameTexel(u_nodeFrameTexture, u_nodeFrameTextureWidth, nodeIdx).r;

  // Per-node label rotation alignment: 0 = viewport, 1 = label turns with camera.
  float labelRotation = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx).g;

  `).concat(_s,`

  float zoomScale = u_zoomLabelSizeRatio;
  float labelW = a_labelWidth * zoomScale * u_pixelRatio;
  float labelH = a_labelHeight * zoomScale * u_pixelRatio;
  float labelMargin = u_labelMargin * zoomScale * u_pixelRatio;
#ifdef PICKING_MODE
  float padding = u_pickingPadding * u_pixelRatio;
#else
  float padding = a_padding * u_pixelRatio;
#endif

  if (labelW <= 0.0) {
    gl_Position = vec4(2.0, 0.0, 0.0, 1.0);
    v_id = vec4(0.0);
    v_color = vec4(0.0);
    return;
  }

  vec2 labelHalfSize = vec2(labelW * 0.5 + padding, labelH * 0.5 + padding);
  vec2 labelOffset = vec2(0.0);

  // Graph-aligned labels add the camera angle so the rect orbits with the text.
  float labelAngle = a_labelAngle - labelRotation * u_cameraAngle;
  float la_c = cos(labelAngle);
  float la_s = sin(labelAngle);
  mat2 labelRotMat = mat2(la_c, -la_s, la_s, la_c);

  vec3 nodeClip = u_matrix * vec3(nodePosition, 1.0);
  vec2 nodeScreen = vec2(
    (nodeClip.x + 1.0) * u_resolution.x,
    (1.0 - nodeClip.y) * u_resolution.y
  ) * 0.5;
  vec2 snapDelta = (round(nodeScreen) - nodeScreen) * u_labelPixelSnapping;

  if (a_positionMode < 4.0) {
    float labelStart = nodeRadiusPixels * edgeDist + labelMargin;
    float textHalf = a_textHeight * zoomScale * u_pixelRatio * 0.5;
    // Box center uses the text half-size; the padding expands the quad below.
    labelOffset = labelRotMat * labelBoxCenter(a_positionMode, labelStart, vec2(labelW * 0.5, labelH * 0.5), textHalf);
  }

  // Rotate the rect with the label so it stays aligned with the (rotated) text.
  vec2 localPos = labelOffset + labelRotMat * (a_quadCorner * labelHalfSize);
  vec2 ndcOffset = (localPos + snapDelta) * 2.0 / u_resolution;
  ndcOffset.y = -ndcOffset.y;

  gl_Position = vec4(nodeClip.xy + ndcOffset, 0.0, 1.0);
  v_id = a_id;
  v_color = a_color;
}
`);return a}var lh=`#version 300 es
precision highp float;

in vec4 v_id;
in vec4 v_color;

out vec4 fragColor;

void main() {
  #ifdef PICKING_MODE
    fragColor = v_id;
  #else
    if (v_color.a <= 0.0) discard;
    // v_color is non-premultiplied RGBA (0-1); convert to premultiplied for blending
    fragColor = vec4(v_color.rgb * v_color.a, v_color.a);
  #endif
}
`;function dh(a,n,e,t){var r,i,o=t.label,s=o===void 0?{}:o,l=(r=s.margin)!==null&&r!==void 0?r:Bt,d=(i=s.zoomToLabelSizeRatioFunction)!==null&&i!==void 0?i:function(){return 1},u=sh(),f=(function(g){function h(){var p;J(this,h);for(var y=arguments.length,m=new Array(y),v=0;v<y;v++)m[v]=arguments[v];return p=ce(this,h,[].concat(m)),w(p,"totalCount",0),w(p,"bufferCapacity",0),p}return he(h,g),ee(h,[{key:"getDefinition",value:function(){var y=WebGL2RenderingContext,m=y.FLOAT,v=y.UNSIGNED_BYTE,b=y.TRIANGLE_STRIP;return{VERTICES:4,VERTEX_SHADER_SOURCE:u,FRAGMENT_SHADER_SOURCE:lh,METHOD:b,UNIFORMS:["u_matrix","u_sizeRatio","u_correctionRatio","u_cameraAngle","u_resolution","u_pixelRatio","u_labelMargin","u_zoomLabelSizeRatio","u_labelPixelSnapping","u_pickingPadding","u_nodeDataTexture","u_nodeDataTextureWidth","u_nodeFrameTexture","u_nodeFrameTextureWidth"],ATTRIBUTES:[{name:"a_nodeIndex",size:1,type:m},{name:"a_id",size:4,type:v,normalized:!0},{name:"a_color",size:4,type:v,normalized:!0},{name:"a_labelWidth",size:1,type:m},{name:"a_labelHeight",size:1,type:m},{name:"a_textHeight",size:1,type:m},{name:"a_positionMode",size:1,type:m},{name:"a_labelAngle",size:1,type:m},{name:"a_padding",size:1,type:m}],CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:m}],CONSTANT_DATA:[[-1,-1],[1,-1],[-1,1],[1,1]]}}},{key:"processLabelBackground",value:function(y,m){var v=this.floats,b=this.ints,_=y*this.STRIDE;v[_++]=m.nodeIndex,b[_++]=m.id,v[_++]=m.color,v[_++]=m.labelWidth,v[_++]=m.labelHeight,v[_++]=m.textHeight,v[_++]=m.positionMode,v[_++]=m.labelAngle,v[_++]=m.padding}},{key:"setUniforms",value:function(y,m){var v=m.gl,b=m.uniformLocations;v.uniformMatrix3fv(b.u_matrix,!1,y.matrix),v.uniform1f(b.u_sizeRatio,y.sizeRatio),v.uniform1f(b.u_correctionRatio,y.correctionRatio),v.uniform1f(b.u_cameraAngle,y.cameraAngle),v.uniform2f(b.u_resolution,y.width*y.pixelRatio,y.height*y.pixelRatio),v.uniform1f(b.u_pixelRatio,y.pixelRatio),v.uniform1f(b.u_labelMargin,h.labelMargin),v.uniform1f(b.u_zoomLabelSizeRatio,1/d(y.zoomRatio)),v.uniform1f(b.u_labelPixelSnapping,y.labelPixelSnapping),v.uniform1f(b.u_pickingPadding,y.labelPickingPadding),v.uniform1i(b.u_nodeDataTexture,y.nodeDataTextureUnit),v.uniform1i(b.u_nodeDataTextureWidth,y.nodeDataTextureWidth),v.uniform1i(b.u_nodeFrameTexture,y.nodeFrameTextureUnit),v.uniform1i(b.u_nodeFrameTextureWidth,y.nodeFrameTextureWidth)}},{key:"hasNothingToRender",value:function(){return this.totalCount===0}},{key:"drawWebGL",value:function(y,m){var v=m.gl;this.totalCount!==0&&v.drawArraysInstanced(v.TRIANGLE_STRIP,0,this.VERTICES,this.totalCount)}},{key:"reallocate",value:function(y){this.totalCount=y,y>this.bufferCapacity&&(this.bufferCapacity=Math.max(y,Math.ceil(this.bufferCapacity*1.5)||10),ye(h,"reallocate",this,3)([this.bufferCapacity]))}}])})(_t);return w(f,"labelMargin",l),new f(a,n,e)}var Ve={fontSize:64,buffer:8,radius:24,cutoff:.25,maxTextureSize:2048,debounceTimeout:100},pn=2,mn=1e20;function uh(a,n,e,t,r){var i=a+r*4,o=document.createElement("canvas");o.width=i,o.height=i;var s=o.getContext("2d",{willReadFrequently:!0});return s.font="".concat(t," ").concat(e," ").concat(a,"px ").concat(n),s.textBaseline="alphabetic",s.textAlign="left",s.fillStyle="black",{ctx:s,canvasSize:i,gridOuter:new Float64Array(i*i),gridInner:new Float64Array(i*i),f:new Float64Array(i),z:new Float64Array(i+1),v:new Uint16Array(i)}}function ch(a,n,e,t,r){var i=a.ctx,o=a.canvasSize,s=i.measureText(n),l=s.width,d=s.actualBoundingBoxAscent,u=s.actualBoundingBoxDescent,f=s.actualBoundingBoxLeft,g=s.actualBoundingBoxRight,h=Math.ceil(d),p=Math.ceil(f),y=Math.max(0,Math.min(o-e,Math.ceil(f)+Math.ceil(g))),m=Math.min(o-e,h+Math.ceil(u)),v=y+2*e,b=m+2*e,_=Math.max(v*b,0),x=new Uint8ClampedArray(_),T={data:x,width:v,height:b,glyphWidth:y,glyphHeight:m,glyphTop:h,glyphLeft:p,glyphAdvance:l};if(y===0||m===0)return T;var S=a.gridInner,A=a.gridOuter;i.clearRect(e,e,y,m),i.fillText(n,e+p,e+h);var E=i.getImageData(e,e,y,m);A.fill(mn,0,_),S.fill(0,0,_);for(var k=0;k<m;k++)for(var D=0;D<y;D++){var C=E.data[4*(k*y+D)+3]/255;if(C!==0){var R=(k+e)*v+D+e;if(C===1)A[R]=0,S[R]=mn;else{var F=.5-C;A[R]=F>0?F*F:0,S[R]=F<0?F*F:0}}}ds(A,0,0,v,b,v,a.f,a.v,a.z),ds(S,e,e,y,m,v,a.f,a.v,a.z);for(var L=0;L<_;L++){var M=Math.sqrt(A[L])-Math.sqrt(S[L]);x[L]=Math.round(255-255*(M/t+r))}return T}function ds(a,n,e,t,r,i,o,s,l){for(var d=n;d<n+t;d++)us(a,e*i+d,i,r,o,s,l);for(var u=e;u<e+r;u++)us(a,u*i+n,1,t,o,s,l)}function us(a,n,e,t,r,i,o){i[0]=0,o[0]=-mn,o[1]=mn,r[0]=a[n];for(var s=1,l=0,d=0;s<t;s++){r[s]=a[n+s*e];var u=s*s;do{var f=i[l];d=(r[s]-r[f]+u-f*f)/(s-f)/2}while(d<=o[l]&&--l>-1);l++,i[l]=s,o[l]=d,o[l+1]=mn}for(var g=0,h=0;g<t;g++){for(;o[h+1]<g;)h++;var p=i[h],y=g-p;a[n+g*e]=r[p]+y*y}}var bt=(function(a){function n(){var e,t=arguments.length>0&&arguments[0]!==void 0?arguments[0]:{};return J(this,n),e=ce(this,n),w(e,"fonts",new Map),w(e,"textures",[]),w(e,"cursor",{x:0,y:0,rowHeight:0,atlasIndex:0}),w(e,"pendingGlyphs",[]),w(e,"debounceTimer",null),e.options=W(W({},Ve),t),e.canvas=document.createElement("canvas"),e.canvas.width=e.options.maxTextureSize,e.canvas.height=e.options.maxTextureSize,e.ctx=e.canvas.getContext("2d",{willReadFrequently:!0}),e.measureCanvas=document.createElement("canvas"),e.measureCtx=e.measureCanvas.getContext("2d"),e.textures.push(e.ctx.getImageData(0,0,1,1)),e}return he(n,a),ee(n,[{key:"getFontKey",value:function(t){return"".concat(t.family,"-").concat(t.weight,"-").concat(t.style)}},{key:"registerFont",value:function(t){var r=this.getFontKey(t);if(this.fonts.has(r))return r;var i=uh(this.options.fontSize,t.family,t.weight,t.style,this.options.buffer);return this.fonts.set(r,{descriptor:t,generator:i,glyphs:new Map}),r}},{key:"ensureGlyphs",value:function(t,r){var i=this.fonts.get(r);if(!i)throw new Error('Font "'.concat(r,'" is not registered. Call registerFont() first.'));var o=!1,s=O(t),l;try{for(s.s();!(l=s.n()).done;){var d=l.value,u=d.codePointAt(0);u!==void 0&&(i.glyphs.has(u)||(this.pendingGlyphs.push({fontKey:r,charCode:u}),o=!0))}}catch(f){s.e(f)}finally{s.f()}o&&this.scheduleTextureGeneration()}},{key:"measureText",value:function(t,r){var i=this.fonts.get(r);if(!i)throw new Error('Font "'.concat(r,'" is not registered.'));var o=i.descriptor,s=o.family,l=o.weight,d=o.style;return this.measureCtx.font="".concat(d," ").concat(l," ").concat(this.options.fontSize,"px ").concat(s),this.measureCtx.measureText(t).width}},{key:"getGlyph",value:function(t,r){var i=this.fonts.get(r);if(i)return i.glyphs.get(t)}},{key:"getTextures",value:function(){return this.textures}},{key:"getFontCount",value:function(){return this.fonts.size}},{key:"getGlyphCount",value:function(){var t=0,r=O(this.fonts.values()),i;try{for(r.s();!(i=r.n()).done;){var o=i.value;t+=o.glyphs.size}}catch(s){r.e(s)}finally{r.f()}return t}},{key:"hasPendingGlyphs",value:function(){return this.pendingGlyphs.length>0}},{key:"flush",value:function(){this.debounceTimer&&(clearTimeout(this.debounceTimer),this.debounceTimer=null),this.generateTextures()}},{key:"destroy",value:function(){this.debounceTimer&&clearTimeout(this.debounceTimer),this.fonts.clear(),this.textures=[],this.pendingGlyphs=[],this.removeAllListeners()}},{key:"scheduleTextureGeneration",value:function(){var t=this;this.debounceTimer===null&&(this.options.debounceTimeout===null?this.generateTextures():this.debounceTimer=setTimeout(function(){t.debounceTimer=null,t.generateTextures()},this.options.debounceTimeout))}},{key:"generateTextures",value:function(){if(this.pendingGlyphs.length!==0){var t=this.options,r=t.maxTextureSize,i=t.buffer,o=t.radius,s=t.cutoff,l=O(this.pendingGlyphs),d;try{for(l.s();!(d=l.n()).done;){var u=d.value,f=u.fontKey,g=u.charCode,h=this.fonts.get(f);if(!(!h||h.glyphs.has(g))){var p=String.fromCodePoint(g),y=ch(h.generator,p,i,o,s),m=y.width,v=y.height;this.cursor.x+m+pn>r&&(this.cursor.x=0,this.cursor.y+=this.cursor.rowHeight+pn,this.cursor.rowHeight=0),this.cursor.y+v+pn>r&&(this.finalizeCurrentTexture(),this.cursor={x:0,y:0,rowHeight:0,atlasIndex:this.cursor.atlasIndex+1},this.ctx.clearRect(0,0,r,r));for(var b=y.data,_=new Uint8ClampedArray(m*v*4),x=0;x<b.length;x++){var T=x*4;_[T]=255,_[T+1]=255,_[T+2]=255,_[T+3]=b[x]}var S=new ImageData(_,m,v);this.ctx.putImageData(S,this.cursor.x,this.cursor.y);var A={charCode:g,width:y.glyphWidth,height:y.glyphHeight,bearingX:-y.glyphLeft-i,bearingY:y.glyphTop+i,advance:y.glyphAdvance,atlasX:this.cursor.x,atlasY:this.cursor.y,atlasWidth:m,atlasHeight:v,atlasIndex:this.cursor.atlasIndex};h.glyphs.set(g,A),this.cursor.x+=m+pn,this.cursor.rowHeight=Math.max(this.cursor.rowHeight,v)}}}catch(E){l.e(E)}finally{l.f()}this.finalizeCurrentTexture(),this.pendingGlyphs=[],this.emit(n.ATLAS_UPDATED_EVENT,{textures:this.textures,glyphCount:this.getGlyphCount()})}}},{key:"finalizeCurrentTexture",value:function(){var t=this.options.maxTextureSize,r=this.cursor.y>0||this.cursor.rowHeight>0,i=Math.min(t,Math.max(this.cursor.x,r?t:1)),o=Math.min(t,this.cursor.y+this.cursor.rowHeight+pn),s=this.ctx.getImageData(0,0,i,o);this.cursor.atlasIndex>=this.textures.length?this.textures.push(s):this.textures[this.cursor.atlasIndex]=s}}])})(ps.EventEmitter);w(bt,"ATLAS_UPDATED_EVENT","atlasUpdated");var hh=Ve.fontSize;function fh(){var a=`  // -------------------------------------------------------------------------
  // Step 3: Calculate position offset from the shared edge distance
  // -------------------------------------------------------------------------
  vec2 positionOffset = vec2(0.0);

  if (a_positionMode < 4.0) {
    vec2 screenDir = getLabelDirection(a_positionMode);
    float boundaryDistPixels = nodeRadiusPixels * edgeDist;
    positionOffset = screenDir * (boundaryDistPixels + margin);
  }`,n=`#version 300 es

// ============================================================================
// Attributes
// ============================================================================

// Per-character (instanced)
in float a_nodeIndex;        // Index into node data texture
in vec2 a_charOffset;        // Character offset from label origin (pixels)
in vec2 a_charSize;          // Character dimensions (pixels)
in vec4 a_texCoords;         // Atlas coords: (x, y, width, height) in pixels
in vec4 a_color;             // Text color (RGBA)
in float a_margin;           // Gap between node edge and label (pixels)
in float a_positionMode;     // Position: 0=right, 1=left, 2=above, 3=below, 4=over
in float a_labelWidth;       // Total label width (pixels)
in float a_labelHeight;      // Label height (pixels)
in float a_verticalCenter;   // Vertical center offset from baseline (pixels)
in float a_textHeight;       // Actual text height: maxAscent + maxDescent (pixels)
in float a_labelAngle;       // Label rotation angle (radians)

// Per-vertex (constant quad corners)
in vec2 a_quadCorner;        // Quad corner: [-1,-1], [1,-1], [-1,1], [1,1]

// ============================================================================
// Uniforms
// ============================================================================

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
uniform vec2 u_resolution;
uniform vec2 u_atlasSize;
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_nodeFrameTexture;
uniform int u_nodeFrameTextureWidth;
uniform float u_zoomLabelSizeRatio;
uniform float u_labelPixelSnapping;
uniform float u_pixelRatio;

// ============================================================================
// Varyings
// ============================================================================

out vec2 v_texCoord;
out vec4 v_color;
out float v_fontScale;

// ============================================================================
// Constants
// ============================================================================

const float bias = 255.0 / 254.0;
const float ATLAS_FONT_SIZE = `.concat(ge(hh),`;

// ============================================================================
// Helper Functions
// ============================================================================

`).concat(Ze,`
`).concat(yt,`
`).concat(Ut,`
`).concat(xs,`

// ============================================================================
// Main
// ============================================================================

void main() {
  // -------------------------------------------------------------------------
  // Step 0: Fetch node data + shared edge distance from textures
  // -------------------------------------------------------------------------
  // Node-data texture format: vec4(x, y, size, shapeId)
  // 2D texture layout: texCoord = (index % width, index / width)
  int nodeIdx = int(a_nodeIndex);
  vec4 nodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  vec2 a_anchorPosition = nodeData.xy;
  float a_nodeSize = nodeData.z;

  // Normalized edge distance from the shared frame texture (the frame-pass ran
  // the SDF search once; the label just reads the result).
  float edgeDist = readFrameTexel(u_nodeFrameTexture, u_nodeFrameTextureWidth, nodeIdx).r;

  // Per-node label rotation alignment: 0 = viewport, 1 = label turns with camera.
  float labelRotation = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx).g;

  // Apply zoom-dependent label size scaling
  // Positional values are in CSS pixels; multiply by u_pixelRatio to convert to
  // physical pixels, which is what the NDC conversion (/ u_resolution) expects.
  float zoomScale = u_zoomLabelSizeRatio;
  float margin = a_margin * zoomScale * u_pixelRatio;
  vec2 charOffset = a_charOffset * zoomScale * u_pixelRatio;
  vec2 charSize = a_charSize * zoomScale * u_pixelRatio;
  float labelWidth = a_labelWidth * zoomScale * u_pixelRatio;
  float labelHeight = a_labelHeight * zoomScale;

  // Font scale: ratio of CSS label size to the base atlas font size.
  // Divided by u_pixelRatio because the atlas is generated at ATLAS_FONT_SIZE * pixelRatio,
  // which cancels out the u_pixelRatio in the fragment shader's gamma formula and keeps
  // the anti-aliasing band width consistent across pixel densities.
  v_fontScale = a_labelHeight * zoomScale / (ATLAS_FONT_SIZE * u_pixelRatio);

  // -------------------------------------------------------------------------
  // Step 1: Transform node position to clip space
  // -------------------------------------------------------------------------
  vec3 anchorClip = u_matrix * vec3(a_anchorPosition, 1.0);

  // -------------------------------------------------------------------------
  // Step 2: Convert node size to screen pixels
  // -------------------------------------------------------------------------
  float matrixScaleX = length(vec2(u_matrix[0][0], u_matrix[1][0]));
  float nodeRadiusGraphSpace = a_nodeSize * u_correctionRatio / u_sizeRatio * 2.0;
  float nodeRadiusNDC = nodeRadiusGraphSpace * matrixScaleX;
  float nodeRadiusPixels = nodeRadiusNDC * u_resolution.x / 2.0;

`).concat(a,`

  // -------------------------------------------------------------------------
  // Step 4: Calculate final vertex position
  // -------------------------------------------------------------------------
  vec2 cornerOffset = (a_quadCorner + 1.0) * 0.5;
  vec2 charPixelPos = positionOffset + charOffset + cornerOffset * charSize;

  // Apply text alignment based on position mode
  float verticalCenter = a_verticalCenter * zoomScale * u_pixelRatio;
  float textHeight = a_textHeight * zoomScale * u_pixelRatio;
  float baselineToDescent = textHeight / 2.0 - verticalCenter;
  float baselineToAscent = textHeight / 2.0 + verticalCenter;

  if (a_positionMode < 0.5) {
    // Right: vertically center
    charPixelPos.y += verticalCenter;
  } else if (a_positionMode < 1.5) {
    // Left: right-align and vertically center
    charPixelPos.x -= labelWidth;
    charPixelPos.y += verticalCenter;
  } else if (a_positionMode < 2.5) {
    // Above: center horizontally, bottom of text at anchor
    charPixelPos.x -= labelWidth * 0.5;
    charPixelPos.y -= baselineToDescent;
  } else if (a_positionMode < 3.5) {
    // Below: center horizontally, top of text at anchor
    charPixelPos.x -= labelWidth * 0.5;
    charPixelPos.y += baselineToAscent;
  } else {
    // Over: center both
    charPixelPos.x -= labelWidth * 0.5;
    charPixelPos.y += verticalCenter;
  }

  // Apply label angle rotation. Graph-aligned labels add the camera angle so the
  // whole label orbits the node in lockstep with the frame-pass edge distance.
  float labelAngle = a_labelAngle - labelRotation * u_cameraAngle;
  float la_c = cos(labelAngle);
  float la_s = sin(labelAngle);
  mat2 labelRotMat = mat2(la_c, -la_s, la_s, la_c);
  charPixelPos = labelRotMat * charPixelPos;

  // Snap node center to pixel grid so label/backdrop/attachment move as a unit
  vec2 nodeScreen = vec2(
    (anchorClip.x + 1.0) * u_resolution.x,
    (1.0 - anchorClip.y) * u_resolution.y
  ) * 0.5;
  charPixelPos += (round(nodeScreen) - nodeScreen) * u_labelPixelSnapping;

  // Convert to NDC (flip Y: screen Y-down -> clip Y-up)
  vec2 ndcOffset = vec2(charPixelPos.x, -charPixelPos.y) * 2.0 / u_resolution;
  gl_Position = vec4(anchorClip.xy + ndcOffset, 0.0, 1.0);

  // -------------------------------------------------------------------------
  // Step 5: Texture coordinates
  // -------------------------------------------------------------------------
  v_texCoord = (a_texCoords.xy + cornerOffset * a_texCoords.zw) / u_atlasSize;

  // -------------------------------------------------------------------------
  // Step 6: Pass color
  // -------------------------------------------------------------------------
  v_color = a_color;
  v_color.a *= bias;
}
`);return n}function gh(){var a=`#version 300 es
precision highp float;

in vec2 v_texCoord;
in vec4 v_color;
in float v_fontScale;

uniform sampler2D u_atlas;
uniform float u_gamma;
uniform float u_sdfBuffer;
uniform float u_pixelRatio;

// Fragment output (single target - picking handled via separate pass)
out vec4 fragColor;

void main() {
  #ifdef PICKING_MODE
    // Labels are not pickable - discard all fragments in picking mode
    fragColor = vec4(0.0);
    discard;
  #else
    // Sample SDF value from atlas (high = inside glyph, low = outside)
    float sdfValue = texture(u_atlas, v_texCoord).a;

    // Edge threshold: 1.0 - cutoff = 0.75 for default cutoff=0.25
    // This is where the glyph edge is located in the SDF
    float edgeThreshold = 1.0 - u_sdfBuffer;

    // Gamma controls the anti-aliasing band width.
    // Scale inversely with font scale so small labels get a wider AA band
    // (smoother) and large labels get a tighter band (sharper).
    float gamma = u_gamma / (u_pixelRatio * v_fontScale);

    // Pure gamma-based anti-aliasing using smoothstep
    // The AA band extends from (threshold - gamma) to (threshold + gamma)
    float alpha = smoothstep(edgeThreshold - gamma, edgeThreshold + gamma, sdfValue);

    // Premultiplied alpha output for correct blending
    float finalAlpha = v_color.a * alpha;
    fragColor = vec4(v_color.rgb * finalAlpha, finalAlpha);
  #endif
}
`;return a}function ph(){return["u_matrix","u_sizeRatio","u_correctionRatio","u_cameraAngle","u_resolution","u_atlasSize","u_atlas","u_gamma","u_sdfBuffer","u_pixelRatio","u_nodeDataTexture","u_nodeDataTextureWidth","u_nodeFrameTexture","u_nodeFrameTextureWidth","u_zoomLabelSizeRatio","u_labelPixelSnapping"]}function vh(){return{vertexShader:fh(),fragmentShader:gh(),uniforms:ph()}}function mh(a,n,e,t){var r,i,o=t.label,s=o===void 0?{}:o,l=(r=s.margin)!==null&&r!==void 0?r:Bt,d=(i=s.zoomToLabelSizeRatioFunction)!==null&&i!==void 0?i:function(){return 1},u=vh(),f=(function(g){function h(p,y,m){var v,b,_,x;if(J(this,h),x=ce(this,h,[p,y,m]),w(x,"atlasTexture",null),w(x,"atlasNeedsUpdate",!1),w(x,"labelGlyphCache",new Map),x.atlasFontSize=Ve.fontSize*gn(),x.atlasManager=new bt({fontSize:x.atlasFontSize}),x.gamma=.025,x.sdfBuffer=Ve.cutoff,x.atlasTexture=p.createTexture(),!x.atlasTexture)throw new Error("NodeLabelProgram: failed to create atlas texture");p.bindTexture(p.TEXTURE_2D,x.atlasTexture),p.texParameteri(p.TEXTURE_2D,p.TEXTURE_WRAP_S,p.CLAMP_TO_EDGE),p.texParameteri(p.TEXTURE_2D,p.TEXTURE_WRAP_T,p.CLAMP_TO_EDGE),p.texParameteri(p.TEXTURE_2D,p.TEXTURE_MIN_FILTER,p.LINEAR),p.texParameteri(p.TEXTURE_2D,p.TEXTURE_MAG_FILTER,p.LINEAR),p.bindTexture(p.TEXTURE_2D,null),x.atlasManager.on(bt.ATLAS_UPDATED_EVENT,function(){x.atlasNeedsUpdate=!0});var T={family:((v=s.font)===null||v===void 0?void 0:v.family)||"sans-serif",weight:((b=s.font)===null||b===void 0?void 0:b.weight)||"normal",style:((_=s.font)===null||_===void 0?void 0:_.style)||"normal"};return x.defaultFontKey=x.atlasManager.registerFont(T),x}return he(h,g),ee(h,[{key:"getDefinition",value:function(){var y=WebGL2RenderingContext,m=y.FLOAT,v=y.UNSIGNED_BYTE,b=y.TRIANGLE_STRIP;return{VERTICES:4,VERTEX_SHADER_SOURCE:u.vertexShader,FRAGMENT_SHADER_SOURCE:u.fragmentShader,METHOD:b,UNIFORMS:u.uniforms,ATTRIBUTES:[{name:"a_nodeIndex",size:1,type:m},{name:"a_charOffset",size:2,type:m},{name:"a_charSize",size:2,type:m},{name:"a_texCoords",size:4,type:m},{name:"a_color",size:4,type:v,normalized:!0},{name:"a_margin",size:1,type:m},{name:"a_positionMode",size:1,type:m},{name:"a_labelWidth",size:1,type:m},{name:"a_labelHeight",size:1,type:m},{name:"a_verticalCenter",size:1,type:m},{name:"a_textHeight",size:1,type:m},{name:"a_labelAngle",size:1,type:m}],CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:m}],CONSTANT_DATA:[[-1,-1],[1,-1],[-1,1],[1,1]]}}},{key:"prepareLabelGlyphs",value:function(y,m){if(m.hidden||!m.text){this.labelGlyphCache.delete(y);return}var v=m.text,b=m.fontKey||this.defaultFontKey;this.atlasManager.ensureGlyphs(v,b);var _=[],x=[],T=0,S=0,A=0,E=O(v),k;try{for(E.s();!(k=E.n()).done;){var D=k.value,C=D.codePointAt(0);if(C===void 0){_.push(void 0),x.push(T);continue}var R=this.atlasManager.getGlyph(C,b);_.push(R),x.push(T),R&&(T+=R.advance,S=Math.max(S,R.bearingY),A=Math.max(A,R.atlasHeight-R.bearingY))}}catch(F){E.e(F)}finally{E.f()}this.labelGlyphCache.set(y,{glyphs:_,xOffsets:x,totalWidth:T,totalHeight:S+A,verticalCenterOffset:(S-A)/2})}},{key:"processCharacter",value:function(y,m,v,b){var _=this.floats,x=this.STRIDE,T=y*x,S=this.labelGlyphCache.get(m.parentKey);if(!S||!S.glyphs[b]){for(var A=0;A<x;A++)_[T+A]=0;return}var E=S.glyphs[b],k=S.xOffsets[b],D=m.size/this.atlasFontSize,C=Ge(m.color),R=T;_[R++]=m.nodeIndex,_[R++]=(k+E.bearingX)*D,_[R++]=-E.bearingY*D,_[R++]=E.atlasWidth*D,_[R++]=E.atlasHeight*D,_[R++]=E.atlasX,_[R++]=E.atlasY,_[R++]=E.atlasWidth,_[R++]=E.atlasHeight,_[R++]=C,_[R++]=m.margin,_[R++]=Wt[m.position],_[R++]=S.totalWidth*D,_[R++]=m.size,_[R++]=S.verticalCenterOffset*D,_[R++]=S.totalHeight*D,_[R++]=m.labelAngle}},{key:"processLabel",value:function(y,m,v){return this.prepareLabelGlyphs(y,v),ye(h,"processLabel",this,3)([y,m,v])}},{key:"updateAtlasTexture",value:function(){if(this.atlasNeedsUpdate){var y=this.normalProgram.gl,m=this.atlasManager.getTextures();if(m.length!==0){var v=m[0];y.bindTexture(y.TEXTURE_2D,this.atlasTexture),y.texImage2D(y.TEXTURE_2D,0,y.RGBA,v.width,v.height,0,y.RGBA,y.UNSIGNED_BYTE,v.data),y.bindTexture(y.TEXTURE_2D,null),this.atlasNeedsUpdate=!1}}}},{key:"setUniforms",value:function(y,m){var v=m.gl,b=m.uniformLocations;v.uniformMatrix3fv(b.u_matrix,!1,y.matrix),v.uniform1f(b.u_sizeRatio,y.sizeRatio),v.uniform1f(b.u_correctionRatio,y.correctionRatio),v.uniform1f(b.u_cameraAngle,y.cameraAngle),v.uniform2f(b.u_resolution,y.width*y.pixelRatio,y.height*y.pixelRatio);var _=this.atlasManager.getTextures();_.length>0?v.uniform2f(b.u_atlasSize,_[0].width,_[0].height):v.uniform2f(b.u_atlasSize,1,1),v.activeTexture(v.TEXTURE0),v.bindTexture(v.TEXTURE_2D,this.atlasTexture),v.uniform1i(b.u_atlas,0),b.u_nodeDataTexture!==void 0&&v.uniform1i(b.u_nodeDataTexture,y.nodeDataTextureUnit),b.u_nodeDataTextureWidth!==void 0&&v.uniform1i(b.u_nodeDataTextureWidth,y.nodeDataTextureWidth),v.uniform1i(b.u_nodeFrameTexture,y.nodeFrameTextureUnit),v.uniform1i(b.u_nodeFrameTextureWidth,y.nodeFrameTextureWidth),v.uniform1f(b.u_gamma,this.gamma),v.uniform1f(b.u_sdfBuffer,this.sdfBuffer),v.uniform1f(b.u_pixelRatio,y.pixelRatio),v.uniform1f(b.u_zoomLabelSizeRatio,1/h.zoomToLabelSizeRatioFunction(y.zoomRatio)),v.uniform1f(b.u_labelPixelSnapping,y.labelPixelSnapping)}},{key:"renderProgram",value:function(y,m){this.updateAtlasTexture(),this.atlasManager.hasPendingGlyphs()&&(this.atlasManager.flush(),this.updateAtlasTexture()),ye(h,"renderProgram",this,3)([y,m])}},{key:"registerFont",value:function(y){var m=arguments.length>1&&arguments[1]!==void 0?arguments[1]:"normal",v=arguments.length>2&&arguments[2]!==void 0?arguments[2]:"normal";return this.atlasManager.registerFont({family:y,weight:m,style:v})}},{key:"getAtlasManager",value:function(){return this.atlasManager}},{key:"measureLabel",value:function(y,m,v){var b=v||this.defaultFontKey;this.atlasManager.ensureGlyphs(y,b),this.atlasManager.hasPendingGlyphs()&&this.atlasManager.flush();var _=0,x=0,T=0,S=O(y),A;try{for(S.s();!(A=S.n()).done;){var E=A.value,k=E.codePointAt(0);if(k!==void 0){var D=this.atlasManager.getGlyph(k,b);D&&(_+=D.advance,x=Math.max(x,D.bearingY),T=Math.max(T,D.atlasHeight-D.bearingY))}}}catch(R){S.e(R)}finally{S.f()}var C=m/this.atlasFontSize;return{width:_*C,height:m,textHeight:(x+T)*C}}},{key:"ensureGlyphsReady",value:function(y,m){var v=m||this.defaultFontKey,b=O(y),_;try{for(b.s();!(_=b.n()).done;){var x=_.value;this.atlasManager.ensureGlyphs(x,v)}}catch(T){b.e(T)}finally{b.f()}this.atlasManager.flush()}},{key:"kill",value:function(){var y=this.normalProgram.gl;this.atlasTexture&&(y.deleteTexture(this.atlasTexture),this.atlasTexture=null),this.atlasManager.destroy(),this.labelGlyphCache.clear(),ye(h,"kill",this,3)([])}}])})(As);return w(f,"labelMargin",l),w(f,"zoomToLabelSizeRatioFunction",d),new f(a,n,e)}var bh=`#version 300 es
precision highp float;

in float v_edgeDist;

// R32F target: only the .r channel is stored.
out vec4 fragColor;

void main() {
  fragColor = vec4(v_edgeDist, 0.0, 0.0, 0.0);
}
`;function yh(a,n,e){var t=Gr(a),r=_n(a).map(function(p){return"uniform ".concat(p.type," ").concat(p.name,";")}).join(`
`),i=Hc(a,e),o=i.code,s=i.multiShape,l=Ht(a,n),d=Object.keys(l.specs).map(function(p){return"float v_".concat(p,";")}).join(`
`),u=Ot(l,{varPrefix:"nodeAttr",baseTexelExpr:"nodeIdx * u_layerAttributeTexelsPerNode",textureWidthUniform:"u_layerAttributeTextureWidth",textureSamplerUniform:"u_layerAttributeTexture"}),f=u.fetchCode,g=u.varyingAssignments,h=`#version 300 es
precision highp float;

uniform float u_cameraAngle;
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform float u_frameTextureWidth;
uniform float u_frameTextureHeight;
uniform sampler2D u_layerAttributeTexture;
uniform int u_layerAttributeTextureWidth;
uniform int u_layerAttributeTexelsPerNode;
`.concat(r,`

in float a_nodeIndex;     // node-data texture index (also the target frame texel)
in float a_positionMode;  // 0=right 1=left 2=above 3=below 4=over
in float a_labelAngle;    // intrinsic label angle (radians)

out float v_edgeDist;

// Shape attributes (plain globals: this pass is vertex-only)
`).concat(d,`

`).concat(Ze,`
`).concat(yt,`
`).concat(t,`
`).concat(o,`
`).concat(xs,`

void main() {
  int nodeIdx = int(a_nodeIndex);
`).concat(f,`
`).concat(g,`
  `).concat(s?`// Multi-shape: the shape id lives in the node-data texture's .w channel:
  g_shapeId = int(readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx).w);`:"// Single-shape mode, shape id not needed",`

  // Per-node rotation alignment (0 = viewport, 1 = graph).
  vec4 nodeFlags = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  float nodeRotation = nodeFlags.r;
  float labelRotation = nodeFlags.g;

  // Effective angle: intrinsic (style-given) plus the camera angle when the label
  // is graph-aligned. The companions place the box at this same angle.
  float effectiveAngle = a_labelAngle - labelRotation * u_cameraAngle;

  // The "over" mode (4) sits on the node center, so it has no edge distance.
  float edgeDist = 0.0;
  if (a_positionMode < 4.0) {
    vec2 screenDir = getLabelDirection(a_positionMode);
    // Rotate by the effective label angle. Inlined rather than via rotate2D()
    // because the shape SDFs (getShapeGLSLForShapes) already define that helper
    // for multi-shape programs, and redefining it would be a GLSL error.
    float ea_c = cos(effectiveAngle);
    float ea_s = sin(effectiveAngle);
    vec2 rotatedScreenDir = mat2(ea_c, -ea_s, ea_s, ea_c) * screenDir;
    // Screen (Y-down) -> SDF (Y-up).
    vec2 sdfDir = vec2(rotatedScreenDir.x, -rotatedScreenDir.y);
    // Counter-rotate into the shape's local frame for graph-aligned nodes, so the
    // boundary is queried against the shape's actual on-screen orientation.
    float nodeCa = -u_cameraAngle * nodeRotation;
    float nc = cos(nodeCa), ns = sin(nodeCa);
    sdfDir = mat2(nc, -ns, ns, nc) * sdfDir;
    edgeDist = findEdgeDistance(sdfDir, 1.0);
  }
  v_edgeDist = edgeDist;

  // Scatter to this node's texel center in the frame texture.
  float x = mod(a_nodeIndex, u_frameTextureWidth);
  float y = floor(a_nodeIndex / u_frameTextureWidth);
  vec2 ndc = (vec2(x, y) + 0.5) / vec2(u_frameTextureWidth, u_frameTextureHeight) * 2.0 - 1.0;
  gl_Position = vec4(ndc, 0.0, 1.0);
  gl_PointSize = 1.0;
}
`);return h}var Rs=(function(){function a(n,e){J(this,a),w(this,"uniformLocations",{});var t=e.shapes,r=e.layers,i=e.shapeGlobalIds;if(t.length===0)throw new Error("NodeLabelFramePass: at least one shape must be provided");this.gl=n,this.shapeUniforms=_n(t),this.hasAttributeData=Object.keys(Ht(t,r).offsets).length>0,this.vertexShader=Ir(n,yh(t,r,i)),this.fragmentShader=Mr(n,bh),this.program=Nr(n,[this.vertexShader,this.fragmentShader]);var o=["u_cameraAngle","u_nodeDataTexture","u_nodeDataTextureWidth","u_frameTextureWidth","u_frameTextureHeight","u_layerAttributeTexture","u_layerAttributeTextureWidth","u_layerAttributeTexelsPerNode"].concat(X(this.shapeUniforms.map(function(v){return v.name}))),s=O(o),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;this.uniformLocations[d]=n.getUniformLocation(this.program,d)}}catch(v){s.e(v)}finally{s.f()}var u=a.FLOATS_PER_POINT*4;this.vao=n.createVertexArray(),this.buffer=n.createBuffer(),n.bindVertexArray(this.vao),n.bindBuffer(n.ARRAY_BUFFER,this.buffer);var f=O([["a_nodeIndex",0],["a_positionMode",4],["a_labelAngle",8]]),g;try{for(f.s();!(g=f.n()).done;){var h=ne(g.value,2),p=h[0],y=h[1],m=n.getAttribLocation(this.program,p);m>=0&&(n.enableVertexAttribArray(m),n.vertexAttribPointer(m,1,n.FLOAT,!1,u,y))}}catch(v){f.e(v)}finally{f.f()}n.bindVertexArray(null)}return ee(a,[{key:"run",value:function(e,t,r,i,o){if(t!==0){var s=this.gl;s.useProgram(this.program),s.bindVertexArray(this.vao),s.bindBuffer(s.ARRAY_BUFFER,this.buffer),s.bufferData(s.ARRAY_BUFFER,e.subarray(0,t*a.FLOATS_PER_POINT),s.DYNAMIC_DRAW);var l=this.uniformLocations;s.uniform1f(l.u_cameraAngle,i.cameraAngle),s.uniform1i(l.u_nodeDataTexture,i.nodeDataTextureUnit),s.uniform1i(l.u_nodeDataTextureWidth,i.nodeDataTextureWidth),s.uniform1f(l.u_frameTextureWidth,r.getTextureWidth()),s.uniform1f(l.u_frameTextureHeight,r.getTextureHeight()),this.hasAttributeData&&o&&(o.bind(ot),l.u_layerAttributeTexture&&s.uniform1i(l.u_layerAttributeTexture,ot),l.u_layerAttributeTextureWidth&&s.uniform1i(l.u_layerAttributeTextureWidth,o.getTextureWidth()),l.u_layerAttributeTexelsPerNode&&s.uniform1i(l.u_layerAttributeTexelsPerNode,o.getTexelsPerItem()));var d=O(this.shapeUniforms),u;try{for(d.s();!(u=d.n()).done;){var f=u.value;Br(s,this.uniformLocations[f.name],f)}}catch(g){d.e(g)}finally{d.f()}r.bindAsRenderTarget(),s.disable(s.BLEND),s.disable(s.DEPTH_TEST),s.drawArrays(s.POINTS,0,t),s.bindFramebuffer(s.FRAMEBUFFER,null),s.bindVertexArray(null)}}},{key:"kill",value:function(){var e=this.gl;e.deleteProgram(this.program),e.deleteShader(this.vertexShader),e.deleteShader(this.fragmentShader),e.deleteBuffer(this.buffer),e.deleteVertexArray(this.vao)}}])})();w(Rs,"FLOATS_PER_POINT",3);function Ds(a,n,e,t,r){var i,o=t.label,s=o===void 0?{}:o,l=t.shapes;if(l.length===0)throw new Error("createNodeProgram: at least one shape must be provided in 'shapes'");var d={},u=[],f;l.forEach(function(A,E){var k=Ic(A);E===0&&(f=k),d[A.name]=E,u[E]=yn(k)});var g=X(t.layers),h=ls({shapes:l,layers:g,shapeGlobalIds:l.length>1?u:void 0,antialias:r}),p=mh(a,null,e,{label:s}),y=oh(a,null,e,{shapes:l,layers:g,getAttributeTexture:function(){return S.getAttributeTexture()},label:s,shapeGlobalIds:l.length>1?u:void 0}),m=dh(a,n,e,{label:s}),v=t.labelAttachments&&Object.keys(t.labelAttachments).length>0?Zc(a,null,e,{label:s}):null,b=new Rs(a,{shapes:l,layers:g,shapeGlobalIds:l.length>1?u:void 0}),_=Aa(l,g),x=Oe(_),T=(i=(function(A){function E(k,D,C){var R;J(this,E),R=ce(this,E,[k,D,C]),w(R,"layerLifecycles",new Map),w(R,"layersNeedingRegeneration",new Set),w(R,"attrDescriptors",[]),R._pickingBuffer=D;var F=T.layerTextures.get(k);F||(F=new Sa(k,x),T.layerTextures.set(k,F)),R.layerAttributeTexture=F;var L=T.textureRefCounts.get(k)||0;T.textureRefCounts.set(k,L+1),R.packedAttributeData=new Float32Array(x.floatsPerItem),g.forEach(function(G,N){if(G.lifecycle){var I={gl:k,renderer:{refresh:function(){return C.refresh()}},getUniformLocation:function(V){return k.getUniformLocation(R.normalProgram.program,V)},requestShaderRegeneration:function(){R.layersNeedingRegeneration.add(N)},requestRefresh:function(){C.refresh()}},P=G.lifecycle(I);R.layerLifecycles.set(N,P)}}),R.layerLifecycles.forEach(function(G){var N;(N=G.init)===null||N===void 0||N.call(G)});var M=new Map;return R.layerLifecycles.forEach(function(G,N){G.getAttributeData&&M.set(N,G)}),R.attrDescriptors=Ea(_,x,M),R}return he(E,A),ee(E,[{key:"getDefinition",value:function(){var D=WebGL2RenderingContext,C=D.FLOAT,R=D.TRIANGLE_STRIP;return{VERTICES:4,VERTEX_SHADER_SOURCE:h.vertexShader,FRAGMENT_SHADER_SOURCE:h.fragmentShader,METHOD:R,UNIFORMS:h.uniforms,ATTRIBUTES:h.attributes,CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:C}],CONSTANT_DATA:[[-1,-1],[1,-1],[-1,1],[1,1]]}}},{key:"maybeRegenerateShaders",value:function(){var D=this;if(this.layersNeedingRegeneration.size!==0){g=g.map(function(N,I){if(D.layersNeedingRegeneration.has(I)){var P=D.layerLifecycles.get(I);if(P!=null&&P.regenerate){var z=P.regenerate();return W(W({},z),{},{lifecycle:N.lifecycle})}}return N}),this.layersNeedingRegeneration.clear(),h=ls({shapes:l,layers:g,shapeGlobalIds:l.length>1?u:void 0,antialias:this.renderer.getSetting("antialiasNodes")});var C=this.normalProgram.gl,R=this.normalProgram,F=R.program,L=R.buffer,M=R.vertexShader,G=R.fragmentShader;C.deleteProgram(F),C.deleteBuffer(L),C.deleteShader(M),C.deleteShader(G),this.normalProgram=this.getProgramInfo("normal",C,h.vertexShader,h.fragmentShader,this._pickingBuffer)}}},{key:"allocateNode",value:function(D){this.layerAttributeTexture.allocate(D)}},{key:"freeNode",value:function(D){this.layerAttributeTexture.free(D)}},{key:"getAttributeTexture",value:function(){return this.layerAttributeTexture}},{key:"uploadLayerTexture",value:function(){this.layerAttributeTexture.upload()}},{key:"process",value:function(D,C,R,F,L){var M=C*this.STRIDE;if(R.visibility==="hidden"){for(var G=M+this.STRIDE;M<G;M++)this.floats[M]=0;this.floats[C*this.STRIDE]=Ss;return}this.processVisibleItem(It(D),M,R,F,L)}},{key:"processVisibleItem",value:function(D,C,R,F,L){var M,G=this.floats,N=this.ints;if(G[C++]=F,N[C++]=D,G[C++]=(M=R.opacity)!==null&&M!==void 0?M:1,x.floatsPerItem!==0){var I=this.packedAttributeData;wa(this.attrDescriptors,R,I,R.color,this.layerLifecycles,0),this.layerAttributeTexture.updateAllAttributes(L,I)}}},{key:"setUniforms",value:function(D,C){var R=this,F=C.gl,L=C.uniformLocations;L.u_matrix&&F.uniformMatrix3fv(L.u_matrix,!1,D.matrix),L.u_sizeRatio&&F.uniform1f(L.u_sizeRatio,D.sizeRatio),L.u_correctionRatio&&F.uniform1f(L.u_correctionRatio,D.correctionRatio),L.u_pickingPadding&&F.uniform1f(L.u_pickingPadding,D.nodePickingPadding),L.u_cameraAngle&&F.uniform1f(L.u_cameraAngle,D.cameraAngle),L.u_nodeDataTexture&&F.uniform1i(L.u_nodeDataTexture,D.nodeDataTextureUnit),L.u_nodeDataTextureWidth&&F.uniform1i(L.u_nodeDataTextureWidth,D.nodeDataTextureWidth),L.u_layerAttributeTexture&&(this.layerAttributeTexture.bind(ot),F.uniform1i(L.u_layerAttributeTexture,ot)),L.u_layerAttributeTextureWidth&&F.uniform1i(L.u_layerAttributeTextureWidth,this.layerAttributeTexture.getTextureWidth()),L.u_layerAttributeTexelsPerNode&&F.uniform1i(L.u_layerAttributeTexelsPerNode,this.layerAttributeTexture.getTexelsPerItem()),l.forEach(function(M){M.uniforms.forEach(function(G){R.setTypedUniform(G,C)})}),g.forEach(function(M){M.uniforms.forEach(function(G){R.setTypedUniform(G,C)})})}},{key:"render",value:function(D,C,R){this.maybeRegenerateShaders(),ye(E,"render",this,3)([D,C,R])}},{key:"renderProgram",value:function(D,C){var R=C.gl,F=C.program;R.useProgram(F),C===this.normalProgram&&this.layerLifecycles.forEach(function(L){var M;(M=L.beforeRender)===null||M===void 0||M.call(L)}),ye(E,"renderProgram",this,3)([D,C])}},{key:"kill",value:function(){this.layerLifecycles.forEach(function(R){var F;(F=R.kill)===null||F===void 0||F.call(R)}),this.layerLifecycles.clear();var D=this.normalProgram.gl,C=(T.textureRefCounts.get(D)||1)-1;C<=0?(this.layerAttributeTexture.kill(),T.layerTextures.delete(D),T.textureRefCounts.delete(D)):T.textureRefCounts.set(D,C),ye(E,"kill",this,3)([])}}])})(_t),w(i,"layerTextures",new WeakMap),w(i,"textureRefCounts",new WeakMap),i),S=new T(a,null,e);return{nodeProgram:S,labelProgram:p,backdropProgram:y,labelBackgroundProgram:m,attachmentProgram:v,framePass:b,shapeSlug:f,shapeNameToIndex:l.length>1?d:void 0,shapeGlobalIds:l.length>1?u:void 0}}var st=6;function Tn(a){var n=a.offsets,e=a.specs,t=a.floatsPerItem,r=Object.keys(n);if(r.length===0||t===0)return{uniformDeclarations:"",uniformNames:[],vertexVaryingDeclarations:"",fragmentVaryingDeclarations:"",fetchCode:"",varyingAssignments:""};var i=`
uniform sampler2D u_edgeAttributeTexture;
uniform int u_edgeAttributeTextureWidth;
uniform int u_edgeAttributeTexelsPerEdge;`,o=["u_edgeAttributeTexture","u_edgeAttributeTextureWidth","u_edgeAttributeTexelsPerEdge"],s=r.map(function(h){var p=e[h].size===1?"float":"vec".concat(e[h].size);return"".concat(p," v_").concat(h,";")}),l=s.map(function(h){return"out ".concat(h)}).join(`
`),d=s.map(function(h){return"in ".concat(h)}).join(`
`),u=Ot(a,{varPrefix:"attr",baseTexelExpr:"edgeIdx * u_edgeAttributeTexelsPerEdge",textureWidthUniform:"u_edgeAttributeTextureWidth",textureSamplerUniform:"u_edgeAttributeTexture"}),f=u.fetchCode,g=u.varyingAssignments;return{uniformDeclarations:i,uniformNames:o,vertexVaryingDeclarations:l,fragmentVaryingDeclarations:d,fetchCode:f,varyingAssignments:g}}function _h(a){return`
float findSourceClampT_`.concat(a,`(vec2 source, float sourceSize, int sourceShapeId, float sourceRotateAlign, vec2 target, float margin) {
  float lo = 0.0, hi = 0.5;
  float nodeExtent = sourceSize * u_correctionRatio / u_sizeRatio * 2.0;
  float effectiveSize = 1.0 - u_correctionRatio / nodeExtent;

  // Counter-rotate the query point so viewport-aligned nodes (rotateAlign=0) are
  // clamped against their on-screen orientation; graph-aligned nodes skip it.
  float ca = u_cameraAngle * (1.0 - sourceRotateAlign);
  float rc = cos(ca), rs = sin(ca);
  mat2 rot = mat2(rc, -rs, rs, rc);

  for (int i = 0; i < 12; i++) {
    float mid = (lo + hi) * 0.5;
    vec2 pos = path_`).concat(a,`_position(mid, source, target);
    vec2 localPos = rot * ((pos - source) / nodeExtent);
    float sdf = querySDF(sourceShapeId, localPos, effectiveSize);
    if (sdf < 0.0) lo = mid;
    else hi = mid;
  }

  float pathLen = path_`).concat(a,`_length(source, target);
  float marginT = (margin * u_correctionRatio / u_sizeRatio) / pathLen;
  return (lo + hi) * 0.5 + marginT;
}
`)}function xh(a){return`
float findTargetClampT_`.concat(a,`(vec2 source, vec2 target, float targetSize, int targetShapeId, float targetRotateAlign, float margin) {
  float lo = 0.5, hi = 1.0;
  float nodeExtent = targetSize * u_correctionRatio / u_sizeRatio * 2.0;
  float effectiveSize = 1.0 - u_correctionRatio / nodeExtent;

  // See findSourceClampT_ for the rotation rationale.
  float ca = u_cameraAngle * (1.0 - targetRotateAlign);
  float rc = cos(ca), rs = sin(ca);
  mat2 rot = mat2(rc, -rs, rs, rc);

  for (int i = 0; i < 12; i++) {
    float mid = (lo + hi) * 0.5;
    vec2 pos = path_`).concat(a,`_position(mid, source, target);
    vec2 localPos = rot * ((pos - target) / nodeExtent);
    float sdf = querySDF(targetShapeId, localPos, effectiveSize);
    if (sdf < 0.0) hi = mid;
    else lo = mid;
  }

  float pathLen = path_`).concat(a,`_length(source, target);
  float marginT = (margin * u_correctionRatio / u_sizeRatio) / pathLen;
  return (lo + hi) * 0.5 - marginT;
}
`)}function ks(a){return`
// Auto-generated numerical tangent (from position via finite differences)
vec2 path_`.concat(a,`_tangent(float t, vec2 source, vec2 target) {
  float epsilon = 0.001;
  float t1 = max(0.0, t - epsilon);
  float t2 = min(1.0, t + epsilon);
  vec2 p1 = path_`).concat(a,`_position(t1, source, target);
  vec2 p2 = path_`).concat(a,`_position(t2, source, target);
  return normalize(p2 - p1);
}

// Auto-generated normal (perpendicular to tangent)
vec2 path_`).concat(a,`_normal(float t, vec2 source, vec2 target) {
  vec2 tangent = path_`).concat(a,`_tangent(t, source, target);
  return vec2(-tangent.y, tangent.x);
}
`)}function Th(a){return`
// Auto-generated path length (samples position 16 times)
float path_`.concat(a,`_length(vec2 source, vec2 target) {
  float len = 0.0;
  vec2 prev = path_`).concat(a,`_position(0.0, source, target);
  for (int i = 1; i <= 16; i++) {
    float t = float(i) / 16.0;
    vec2 curr = path_`).concat(a,`_position(t, source, target);
    len += length(curr - prev);
    prev = curr;
  }
  return len;
}
`)}function Sh(a){return`
// Auto-generated closest_t (coarse sample + ternary search)
float path_`.concat(a,`_closest_t(vec2 p, vec2 source, vec2 target) {
  // Coarse search: find best among 10 samples
  float bestT = 0.0;
  float bestDist = 1e10;
  for (int i = 0; i <= 10; i++) {
    float t = float(i) / 10.0;
    vec2 pos = path_`).concat(a,`_position(t, source, target);
    float d = length(p - pos);
    if (d < bestDist) {
      bestDist = d;
      bestT = t;
    }
  }

  // Refine with ternary search
  float lo = max(0.0, bestT - 0.1);
  float hi = min(1.0, bestT + 0.1);
  for (int i = 0; i < 10; i++) {
    float mid1 = lo + (hi - lo) / 3.0;
    float mid2 = hi - (hi - lo) / 3.0;
    float d1 = length(p - path_`).concat(a,`_position(mid1, source, target));
    float d2 = length(p - path_`).concat(a,`_position(mid2, source, target));
    if (d1 < d2) {
      hi = mid2;
    } else {
      lo = mid1;
    }
  }
  return (lo + hi) * 0.5;
}
`)}function Eh(a){return`
// Auto-generated signed distance (via closest_t + normal)
float path_`.concat(a,`_distance(vec2 p, vec2 source, vec2 target) {
  float closestT = path_`).concat(a,`_closest_t(p, source, target);
  vec2 closest = path_`).concat(a,`_position(closestT, source, target);
  vec2 diff = p - closest;
  float dist = length(diff);
  if (dist < 0.0001) return 0.0;

  // Get normal at closest point
  vec2 normal = path_`).concat(a,`_normal(closestT, source, target);
  return dist * sign(dot(diff, normal));
}
`)}function wh(a){return`
// Auto-generated t_at_distance (binary search)
float path_`.concat(a,`_t_at_distance(float targetDist, vec2 source, vec2 target) {
  if (targetDist <= 0.0) return 0.0;

  float totalLen = path_`).concat(a,`_length(source, target);
  if (targetDist >= totalLen) return 1.0;

  // Binary search for t
  float lo = 0.0, hi = 1.0;
  for (int i = 0; i < 12; i++) {
    float mid = (lo + hi) * 0.5;

    // Compute arc length from 0 to mid
    float arcLen = 0.0;
    vec2 prev = path_`).concat(a,`_position(0.0, source, target);
    for (int j = 1; j <= 8; j++) {
      float t = mid * float(j) / 8.0;
      vec2 curr = path_`).concat(a,`_position(t, source, target);
      arcLen += length(curr - prev);
      prev = curr;
    }

    if (arcLen < targetDist) {
      lo = mid;
    } else {
      hi = mid;
    }
  }
  return (lo + hi) * 0.5;
}
`)}function ma(a,n){var e=new RegExp("\\b(float|vec[234]|void|int|bool)\\s+".concat(n,"\\s*\\("));return e.test(a)}function Ls(a,n){var e=[];return ma(n,"path_".concat(a,"_length"))||e.push(Th(a)),ma(n,"path_".concat(a,"_closest_t"))||e.push(Sh(a)),ma(n,"path_".concat(a,"_distance"))||e.push(Eh(a)),ma(n,"path_".concat(a,"_t_at_distance"))||e.push(wh(a)),e.length>0?`
// ============================================================================
// Auto-generated fallback functions (path only provided position)
// ============================================================================
`.concat(e.join(`
`)):""}function Cs(a){var n,e,t,r=a.paths,i=a.layers,o=(n=a.extremities)!==null&&n!==void 0?n:[];if(r.length===0)throw new Error("At least one path is required in 'paths'");if(i.length===0)throw new Error("At least one layer is required in 'layers'");var s=(e=a.defaultHead)!==null&&e!==void 0?e:"none",l=(t=a.defaultTail)!==null&&t!==void 0?t:"none";return{paths:r,extremities:o,layers:i,path:r[0],layer:i[0],defaultHead:s,defaultTail:l}}var Ps=WebGL2RenderingContext,bn=Ps.FLOAT,cs=Ps.UNSIGNED_BYTE;function Ah(a,n,e){var t=new Set(["u_matrix","u_sizeRatio","u_correctionRatio","u_zoomRatio","u_pixelRatio","u_cameraAngle","u_minEdgeThickness","u_pickingPadding","u_nodeDataTexture","u_nodeDataTextureWidth","u_edgeDataTexture","u_edgeDataTextureWidth","u_edgeFrameTexture","u_edgeFrameTextureWidth","u_edgeAttributeTexture","u_edgeAttributeTextureWidth","u_edgeAttributeTexelsPerEdge"]),r=new Set(t);return a.forEach(function(i){return i.uniforms.forEach(function(o){return r.add(o.name)})}),n.forEach(function(i){return i.uniforms.forEach(function(o){return r.add(o.name)})}),e.forEach(function(i){return i.uniforms.forEach(function(o){return r.add(o.name)})}),Array.from(r)}function Ur(a){var n=new Set,e=[],t=O(a),r;try{for(t.s();!(r=t.n()).done;){var i=r.value;n.has(i.name)||(n.add(i.name),e.push("// Path: ".concat(i.name)),e.push(i.glsl),e.push(ks(i.name)),e.push(Ls(i.name,i.glsl)))}}catch(o){t.e(o)}finally{t.f()}return e.join(`

`)}function Rh(a){var n=[],e=O(a),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;n.push("// Extremity: ".concat(r.name)),n.push(r.glsl)}}catch(i){e.e(i)}finally{e.f()}return n.join(`

`)}var Dh=[{queryName:"queryPathPosition",pathFunc:"position",returnType:"vec2",params:"float t, vec2 source, vec2 target",args:"t, source, target"},{queryName:"queryPathTangent",pathFunc:"tangent",returnType:"vec2",params:"float t, vec2 source, vec2 target",args:"t, source, target"},{queryName:"queryPathNormal",pathFunc:"normal",returnType:"vec2",params:"float t, vec2 source, vec2 target",args:"t, source, target"},{queryName:"queryPathLength",pathFunc:"length",returnType:"float",params:"vec2 source, vec2 target",args:"source, target"},{queryName:"queryPathClosestT",pathFunc:"closest_t",returnType:"float",params:"vec2 p, vec2 source, vec2 target",args:"p, source, target"}];function kh(a,n){var e=n.queryName,t=n.pathFunc,r=n.returnType,i=n.params,o=n.args;if(a.length===1)return"".concat(r," ").concat(e,"(int pathId, ").concat(i,`) {
  return path_`).concat(a[0].name,"_").concat(t,"(").concat(o,`);
}`);var s=a.map(function(l,d){return"    case ".concat(d,": return path_").concat(l.name,"_").concat(t,"(").concat(o,");")}).join(`
`);return"".concat(r," ").concat(e,"(int pathId, ").concat(i,`) {
  switch (pathId) {
`).concat(s,`
    default: return path_`).concat(a[0].name,"_").concat(t,"(").concat(o,`);
  }
}`)}function Hr(a){return Dh.map(function(n){return kh(a,n)}).join(`

`)}function Lh(a){if(a.length===1)return`float queryExtremitySDF(int extremityId, vec2 uv, float lengthRatio, float widthRatio) {
  return extremity_`.concat(a[0].name,`(uv, lengthRatio, widthRatio);
}`);var n=a.map(function(e,t){return"    case ".concat(t,": return extremity_").concat(e.name,"(uv, lengthRatio, widthRatio);")}).join(`
`);return`float queryExtremitySDF(int extremityId, vec2 uv, float lengthRatio, float widthRatio) {
  switch (extremityId) {
`.concat(n,`
    default: return extremity_`).concat(a[0].name,`(uv, lengthRatio, widthRatio);
  }
}`)}function Ch(a){var n=[],e=O(a),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;n.push(_h(r.name)),n.push(xh(r.name))}}catch(s){e.e(s)}finally{e.f()}if(a.length===1)n.push(`
float queryFindSourceClampT(int pathId, vec2 source, float sourceSize, int sourceShapeId, float sourceRotateAlign, vec2 target, float margin) {
  return findSourceClampT_`.concat(a[0].name,`(source, sourceSize, sourceShapeId, sourceRotateAlign, target, margin);
}

float queryFindTargetClampT(int pathId, vec2 source, vec2 target, float targetSize, int targetShapeId, float targetRotateAlign, float margin) {
  return findTargetClampT_`).concat(a[0].name,`(source, target, targetSize, targetShapeId, targetRotateAlign, margin);
}`));else{var i=a.map(function(s,l){return"    case ".concat(l,": return findSourceClampT_").concat(s.name,"(source, sourceSize, sourceShapeId, sourceRotateAlign, target, margin);")}).join(`
`),o=a.map(function(s,l){return"    case ".concat(l,": return findTargetClampT_").concat(s.name,"(source, target, targetSize, targetShapeId, targetRotateAlign, margin);")}).join(`
`);n.push(`
float queryFindSourceClampT(int pathId, vec2 source, float sourceSize, int sourceShapeId, float sourceRotateAlign, vec2 target, float margin) {
  switch (pathId) {
`.concat(i,`
    default: return findSourceClampT_`).concat(a[0].name,`(source, sourceSize, sourceShapeId, sourceRotateAlign, target, margin);
  }
}

float queryFindTargetClampT(int pathId, vec2 source, vec2 target, float targetSize, int targetShapeId, float targetRotateAlign, float margin) {
  switch (pathId) {
`).concat(o,`
    default: return findTargetClampT_`).concat(a[0].name,`(source, target, targetSize, targetShapeId, targetRotateAlign, margin);
  }
}`))}return n.join(`

`)}function Ph(a,n,e,t,r){var i=Oe([].concat(X(a),X(e))),o=Tn(i),s=Ht(t,r),l=Object.keys(s.offsets),d=function(A){var E=s.specs[A].size;return E===1?"float":"vec".concat(E)},u=l.map(function(S){return"".concat(d(S)," v_source_").concat(S,`;
`).concat(d(S)," v_target_").concat(S,";")}).join(`
`),f=Ot(s,{varPrefix:"srcNodeAttr",baseTexelExpr:"srcIdx * u_layerAttributeTexelsPerNode",textureWidthUniform:"u_layerAttributeTextureWidth",textureSamplerUniform:"u_layerAttributeTexture",outputPrefix:"v_source_"}),g=Ot(s,{varPrefix:"tgtNodeAttr",baseTexelExpr:"tgtIdx * u_layerAttributeTexelsPerNode",textureWidthUniform:"u_layerAttributeTextureWidth",textureSamplerUniform:"u_layerAttributeTexture",outputPrefix:"v_target_"}),h=l.map(function(S){return"".concat(d(S)," g_").concat(S,";")}).join(`
`),p=l.map(function(S){return"  g_".concat(S," = v_source_").concat(S,";")}).join(`
`),y=l.map(function(S){return"  g_".concat(S," = v_target_").concat(S,";")}).join(`
`),m=new Set,v=[],b=function(A){m.has(A.name)||(m.add(A.name),v.push("uniform ".concat(A.type," ").concat(A.name,";")))};a.forEach(function(S){return S.uniforms.forEach(b)}),n.forEach(function(S){return S.uniforms.forEach(b)});var _=n.map(function(S){return ge(S.widthFactor)}).join(", "),x=Math.max.apply(Math,X(a.map(function(S){return S.minBodyLengthRatio||0}))),T=`#version 300 es

// Node and edge data textures
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_edgeDataTexture;
uniform int u_edgeDataTextureWidth;

// Edge attribute texture (for path-specific attributes like curvature)
`.concat(o.uniformDeclarations,`

// Node attribute texture (for node shape attributes)
uniform sampler2D u_layerAttributeTexture;
uniform int u_layerAttributeTextureWidth;
uniform int u_layerAttributeTexelsPerNode;

// Render params needed for clamping
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
uniform float u_minEdgeThickness;

// Edge-frame texture dimensions, for scattering each point to its texel
uniform float u_frameTextureWidth;
uniform float u_frameTextureHeight;

// Custom path/extremity uniforms
`).concat(v.join(`
`),`

// Path attribute varyings — assigned so path functions can read them as globals
`).concat(o.vertexVaryingDeclarations,`

// Node size varyings — read by path functions like loop
out float v_sourceNodeSize;
out float v_targetNodeSize;

// Node shape attributes per endpoint, and the ones querySDF reads
`).concat(u,`
`).concat(h,`

// Scattered output written to the edge-frame texel: [tStart, tEnd, straightenFactor, pathLength]
out vec4 v_clamp;

// Extremity width factor array (needed for extremityScale computation)
const float EXTREMITY_WIDTH_FACTORS[`).concat(n.length,"] = float[](").concat(_,`);

// Node-data fetch helpers (geometry texel + rotation-flags texel)
`).concat(Ze,`
`).concat(yt,`

// Shape SDFs for node boundary clamping
`).concat(Mc(),`
`).concat(Nc(new Set(l)),`

// Path functions
`).concat(Ur(a),`
`).concat(Hr(a),`
`).concat(Ch(a),`

void main() {
  // One point per edge-data row; the row index is the edge-frame texel target.
  int edgeIdx = gl_VertexID;
  int texel0Idx = edgeIdx * 2;
  int texel1Idx = edgeIdx * 2 + 1;
  ivec2 edgeTexCoord0 = ivec2(texel0Idx % u_edgeDataTextureWidth, texel0Idx / u_edgeDataTextureWidth);
  ivec2 edgeTexCoord1 = ivec2(texel1Idx % u_edgeDataTextureWidth, texel1Idx / u_edgeDataTextureWidth);
  vec4 edgeData0 = texelFetch(u_edgeDataTexture, edgeTexCoord0, 0);
  vec4 edgeData1 = texelFetch(u_edgeDataTexture, edgeTexCoord1, 0);

  int srcIdx = int(edgeData0.x);
  int tgtIdx = int(edgeData0.y);
  float a_thickness = edgeData0.z;
  float a_headLengthRatio = edgeData1.x;
  float a_tailLengthRatio = edgeData1.y;
  int pathId = int(edgeData1.z);
  int extremityPacked = int(edgeData1.w);
  int headId = extremityPacked >> 4;
  int tailId = extremityPacked & 15;

  // Fetch path/layer attributes and assign to path-function globals
`).concat(o.fetchCode,`
`).concat(o.varyingAssignments,`

  // Fetch node shape attributes for both endpoints
`).concat(f.fetchCode,`
`).concat(f.varyingAssignments,`
`).concat(g.fetchCode,`
`).concat(g.varyingAssignments,`

  // Fetch node geometry (texel 0) and rotation flags (texel 1).
  vec4 srcNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx);
  vec4 tgtNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx);

  vec2 a_source = srcNodeData.xy;
  vec2 a_target = tgtNodeData.xy;
  float a_sourceSize = srcNodeData.z;
  float a_targetSize = tgtNodeData.z;
  float a_sourceShapeId = srcNodeData.w;
  float a_targetShapeId = tgtNodeData.w;
  // Per-node rotation alignment (0 = viewport, 1 = graph), for boundary clamping.
  float a_sourceRotateAlign = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx).r;
  float a_targetRotateAlign = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx).r;

  v_sourceNodeSize = a_sourceSize;
  v_targetNodeSize = a_targetSize;

  float headLengthRatio = a_headLengthRatio;
  float tailLengthRatio = a_tailLengthRatio;
  float headWidthFactor = EXTREMITY_WIDTH_FACTORS[headId];
  float tailWidthFactor = EXTREMITY_WIDTH_FACTORS[tailId];
  float minBodyLengthRatio = `).concat(ge(x),`;

  // Thickness in WebGL units (needed to compute clamping margin and extremity lengths)
  float pixelsThickness = max(a_thickness, u_minEdgeThickness * u_sizeRatio);
  float webGLThickness = pixelsThickness * u_correctionRatio / u_sizeRatio;

  // SDF clamping: find where the edge body meets the node boundaries. Always
  // searched (ungated) so labels get a true boundary clamp; the body re-applies
  // its extremity gating in-shader.
`).concat(p,`
  float tStart = queryFindSourceClampT(pathId, a_source, a_sourceSize, int(a_sourceShapeId), a_sourceRotateAlign, a_target, 0.0);
`).concat(y,`
  float tEnd = queryFindTargetClampT(pathId, a_source, a_target, a_targetSize, int(a_targetShapeId), a_targetRotateAlign, 0.0);

  // straightenFactor (frame .z) is consumed only by the body, which runs to the
  // node center when an extremity is absent. Derive the straightening math from
  // these gated clamps — not the ungated boundary ones above — so it matches the
  // geometry it drives. The ungated tStart/tEnd remain what labels read.
  float bodyTStart = tailLengthRatio > 0.0 ? tStart : 0.0;
  float bodyTEnd = headLengthRatio > 0.0 ? tEnd : 1.0;

  // Path length and zone boundaries (needed for straightening check)
  float pathLength = queryPathLength(pathId, a_source, a_target);
  float visibleLength = pathLength * (bodyTEnd - bodyTStart);

  float headLength = headLengthRatio * webGLThickness;
  float tailLength = tailLengthRatio * webGLThickness;
  float minBodyLength = minBodyLengthRatio * webGLThickness;

  float totalNeededLength = headLength + tailLength + minBodyLength;
  float extremityScale = 1.0;
  if (totalNeededLength > visibleLength && totalNeededLength > 0.0001) {
    extremityScale = visibleLength / totalNeededLength;
    headLength *= extremityScale;
    tailLength *= extremityScale;
  }

  float headLengthT = pathLength > 0.0001 ? headLength / pathLength : 0.0;
  float tailLengthT = pathLength > 0.0001 ? tailLength / pathLength : 0.0;

  float tTailEnd = bodyTStart + tailLengthT;
  float tHeadStart = bodyTEnd - headLengthT;
  if (tTailEnd > tHeadStart) {
    float mid = (bodyTStart + bodyTEnd) * 0.5;
    tTailEnd = mid;
    tHeadStart = mid;
  }

  // Straighten factor: blend toward straight line when path twists in extremity zones
  float straightenFactor = 0.0;
  {
    float maxDeviation = 0.0;
    if (tailLengthT > 0.0001) {
      vec2 tailTang = queryPathTangent(pathId, tTailEnd, a_source, a_target);
      vec2 tailChord = queryPathPosition(pathId, bodyTStart, a_source, a_target)
                     - queryPathPosition(pathId, tTailEnd, a_source, a_target);
      float tailChordLen = length(tailChord);
      if (tailChordLen > 0.0001) {
        maxDeviation = max(maxDeviation, 1.0 - dot(-tailTang, tailChord / tailChordLen));
      }
    }
    if (headLengthT > 0.0001) {
      vec2 headTang = queryPathTangent(pathId, tHeadStart, a_source, a_target);
      vec2 headChord = queryPathPosition(pathId, bodyTEnd, a_source, a_target)
                     - queryPathPosition(pathId, tHeadStart, a_source, a_target);
      float headChordLen = length(headChord);
      if (headChordLen > 0.0001) {
        maxDeviation = max(maxDeviation, 1.0 - dot(headTang, headChord / headChordLen));
      }
    }
    straightenFactor = smoothstep(0.035, 0.5, maxDeviation);
  }

  // When straightening, blend the ungated tStart/tEnd (the label-facing clamps)
  // toward straight-line clamp positions.
  if (straightenFactor > 0.001) {
    if (tailLengthRatio > 0.0) {
`).concat(p,`
      float srcExtent = a_sourceSize * u_correctionRatio / u_sizeRatio * 2.0;
      float srcEffective = 1.0 - u_correctionRatio / srcExtent;
      float srcCa = u_cameraAngle * (1.0 - a_sourceRotateAlign);
      mat2 srcRot = mat2(cos(srcCa), -sin(srcCa), sin(srcCa), cos(srcCa));
      float lo = 0.0, hi = 0.5;
      for (int i = 0; i < 12; i++) {
        float mid = (lo + hi) * 0.5;
        vec2 pos = mix(a_source, a_target, mid);
        vec2 localPos = srcRot * ((pos - a_source) / srcExtent);
        float sdf = querySDF(int(a_sourceShapeId), localPos, srcEffective);
        if (sdf < 0.0) lo = mid; else hi = mid;
      }
      tStart = mix(tStart, (lo + hi) * 0.5, straightenFactor);
    }
    if (headLengthRatio > 0.0) {
`).concat(y,`
      float tgtExtent = a_targetSize * u_correctionRatio / u_sizeRatio * 2.0;
      float tgtEffective = 1.0 - u_correctionRatio / tgtExtent;
      float tgtCa = u_cameraAngle * (1.0 - a_targetRotateAlign);
      mat2 tgtRot = mat2(cos(tgtCa), -sin(tgtCa), sin(tgtCa), cos(tgtCa));
      float lo = 0.5, hi = 1.0;
      for (int i = 0; i < 12; i++) {
        float mid = (lo + hi) * 0.5;
        vec2 pos = mix(a_source, a_target, mid);
        vec2 localPos = tgtRot * ((pos - a_target) / tgtExtent);
        float sdf = querySDF(int(a_targetShapeId), localPos, tgtEffective);
        if (sdf < 0.0) hi = mid; else lo = mid;
      }
      tEnd = mix(tEnd, (lo + hi) * 0.5, straightenFactor);
    }
  }

  v_clamp = vec4(tStart, tEnd, straightenFactor, pathLength);

  // Scatter this point to its edge's texel center in the frame texture.
  float x = mod(float(edgeIdx), u_frameTextureWidth);
  float y = floor(float(edgeIdx) / u_frameTextureWidth);
  vec2 ndc = (vec2(x, y) + 0.5) / vec2(u_frameTextureWidth, u_frameTextureHeight) * 2.0 - 1.0;
  gl_Position = vec4(ndc, 0.0, 1.0);
  gl_PointSize = 1.0;
}
`);return T}var ba=0,hs=1,ya=2;function Fh(a,n,e){var t=[];e&&(t.push([ba,0,-1],[ba,0,1]),t.push([ba,1,-1],[ba,1,1]));for(var r=0;r<=a;r++){var i=r/a;t.push([hs,i,-1],[hs,i,1])}return n&&(t.push([ya,0,-1],[ya,0,1]),t.push([ya,1,-1],[ya,1,1])),{data:t,attributes:[{name:"a_zone",size:1,type:bn},{name:"a_zoneT",size:1,type:bn},{name:"a_side",size:1,type:bn}],verticesPerEdge:t.length}}function Ih(a,n,e,t){var r=Oe([].concat(X(a),X(e))),i=Tn(r),o=new Set(["u_matrix","u_sizeRatio","u_correctionRatio","u_zoomRatio","u_pixelRatio","u_cameraAngle","u_minEdgeThickness","u_pickingPadding","u_nodeDataTexture"]),s=new Set,l=[],d=function(v){!o.has(v.name)&&!s.has(v.name)&&(s.add(v.name),l.push("uniform ".concat(v.type," ").concat(v.name,";")))};a.forEach(function(m){return m.uniforms.forEach(d)}),n.forEach(function(m){return m.uniforms.forEach(d)}),e.forEach(function(m){return m.uniforms.forEach(d)});var u=t.map(function(m){var v=m.size===1?"float":"vec".concat(m.size);return"in ".concat(v," ").concat(m.name,";")}).join(`
`),f=n.map(function(m){return ge(m.widthFactor)}).join(", "),g=Math.max.apply(Math,X(a.map(function(m){return m.minBodyLengthRatio||0}))),h=e.some(function(m){return m.needsNodeColors}),p=a.some(function(m){return m.needsNodeSize}),y=`#version 300 es

// Constant attributes (per vertex)
`.concat(u,`

// Per-edge attributes
// Edge data (source/target indices, thickness, extremity ratios, path/extremity IDs)
// is fetched from edge data texture via edge index
in float a_edgeIndex;   // Index into edge data texture
in vec4 a_color;        // Edge color
in vec4 a_id;           // Edge ID for picking
in float a_opacity;     // Edge opacity

// Standard uniforms
uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_zoomRatio;
uniform float u_pixelRatio;
uniform float u_cameraAngle;
uniform float u_minEdgeThickness;
#ifdef PICKING_MODE
uniform float u_pickingPadding;
#endif
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_edgeDataTexture;
uniform int u_edgeDataTextureWidth;
uniform sampler2D u_edgeFrameTexture;
uniform int u_edgeFrameTextureWidth;

// Edge path attribute texture uniforms
`).concat(i.uniformDeclarations,`

// Custom uniforms
`).concat(l.join(`
`),`

// Standard varyings
out vec4 v_color;
out float v_opacity;
out vec4 v_id;
out float v_thickness;       // Edge body thickness (in consistent units)
out float v_t;
out float v_tStart;
out float v_tEnd;
out float v_side;
out float v_antialiasingWidth;  // Anti-aliasing width (normalized: u_correctionRatio / thickness)
out vec2 v_source;
out vec2 v_target;
out float v_edgeLength;
`).concat(p?`
out float v_sourceNodeSize;  // Source node size (mirrored in labels/generator.ts as plain float)
out float v_targetNodeSize;  // Target node size (mirrored in labels/generator.ts as plain float)`:"",`
`).concat(h?`
out vec4 v_sourceColor;
out vec4 v_targetColor;`:"",`
// Zone varyings
out float v_zone;            // 0=tail, 1=body, 2=head
out float v_zoneT;           // Position within zone [0,1]
out float v_headLengthRatio; // Head length as ratio of thickness
out float v_tailLengthRatio; // Tail length as ratio of thickness
out float v_headWidthRatio;  // Head width factor
out float v_tailWidthRatio;  // Tail width factor

// Multi-path/extremity varyings
flat out int v_pathId;
flat out int v_headId;
flat out int v_tailId;

// Path/layer attribute varyings (fetched from edge attribute texture)
`).concat(i.vertexVaryingDeclarations,`

const float bias = 255.0 / 254.0;

// Width factor array for extremities (shared pool for head/tail)
const float EXTREMITY_WIDTH_FACTORS[`).concat(n.length,"] = float[](").concat(f,`);

// All path functions
`).concat(Ur(a),`

// Path selector functions
`).concat(Hr(a),`

// Node-data fetch helper (geometry texel of the two-texel node stride)
`).concat(Ze,`
`).concat(h?Uc:"",`
// Per-edge clamp from the frame-pass (tStart, tEnd, straightenFactor, pathLength)
`).concat(Ut,`

void main() {
  // Fetch edge data from edge texture (2 texels per edge)
  // Texel 0: sourceNodeIndex, targetNodeIndex, thickness, reserved
  // Texel 1: headLengthRatio, tailLengthRatio, pathId, (headId << 4) | tailId
  int edgeIdx = int(a_edgeIndex);

  // Hidden edges are flagged with a negative row by EdgeProgram.process(). Push
  // the whole primitive outside the clip volume: every vertex lands at the same
  // out-of-range position, so it is fully clipped and rasterizes nothing —
  // neither to the frame buffer nor to the picking buffer.
  if (edgeIdx < 0) {
    gl_Position = vec4(2.0, 0.0, 0.0, 1.0);
    v_color = vec4(0.0);
    v_id = vec4(0.0);
    return;
  }

  int texel0Idx = edgeIdx * 2;
  int texel1Idx = edgeIdx * 2 + 1;
  ivec2 edgeTexCoord0 = ivec2(texel0Idx % u_edgeDataTextureWidth, texel0Idx / u_edgeDataTextureWidth);
  ivec2 edgeTexCoord1 = ivec2(texel1Idx % u_edgeDataTextureWidth, texel1Idx / u_edgeDataTextureWidth);
  vec4 edgeData0 = texelFetch(u_edgeDataTexture, edgeTexCoord0, 0);
  vec4 edgeData1 = texelFetch(u_edgeDataTexture, edgeTexCoord1, 0);

  // Unpack edge data
  int srcIdx = int(edgeData0.x);
  int tgtIdx = int(edgeData0.y);
  float a_thickness = edgeData0.z;
  // edgeData0.w is now reserved (curvature moved to path attribute texture)
  float a_headLengthRatio = edgeData1.x;
  float a_tailLengthRatio = edgeData1.y;
  int pathId = int(edgeData1.z);
  int extremityPacked = int(edgeData1.w);
  int headId = extremityPacked >> 4;
  int tailId = extremityPacked & 15;

  // Fetch path/layer attributes from edge attribute texture
`).concat(i.fetchCode,`

  // Assign path/layer attribute varyings
`).concat(i.varyingAssignments,`

  // Fetch source and target node geometry (texel 0 of the two-texel node stride)
  vec4 srcNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx);
  vec4 tgtNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx);

  vec2 a_source = srcNodeData.xy;
  vec2 a_target = tgtNodeData.xy;
`).concat(p?`
  // Assign node size varyings early (path functions like loops need them during clamping)
  v_sourceNodeSize = srcNodeData.z;
  v_targetNodeSize = tgtNodeData.z;`:"",`
`).concat(h?`
  v_sourceColor = readNodeColor(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx);
  v_targetColor = readNodeColor(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx);`:"",`

  // Convert thickness to WebGL units
  float minThickness = u_minEdgeThickness;
  float pixelsThickness = max(a_thickness, minThickness * u_sizeRatio);
  float webGLThickness = pixelsThickness * u_correctionRatio / u_sizeRatio;

  // Extremity parameters from ID lookups (shared pool)
  float headLengthRatio = a_headLengthRatio;
  float tailLengthRatio = a_tailLengthRatio;
  float headWidthFactor = EXTREMITY_WIDTH_FACTORS[headId];
  float tailWidthFactor = EXTREMITY_WIDTH_FACTORS[tailId];
  float minBodyLengthRatio = `).concat(ge(g),`;

  // Per-edge values from the frame-pass texture (read by edge index).
  // tStart/tEnd are the ungated boundary clamps: re-apply the body's extremity
  // gating here (no extremity → body runs to the node center, 0/1).
  vec4 frameClamp = readFrameTexel(u_edgeFrameTexture, u_edgeFrameTextureWidth, edgeIdx);
  float tStart           = a_tailLengthRatio > 0.0 ? frameClamp.x : 0.0;
  float tEnd             = a_headLengthRatio > 0.0 ? frameClamp.y : 1.0;
  float straightenFactor = frameClamp.z;
  float pathLength       = frameClamp.w;

  // Anti-aliasing width (~1 pixel, normalized by thickness)
  float antialiasingWidth = u_correctionRatio / webGLThickness;

  float visibleLength = pathLength * (tEnd - tStart);

  // Compute extremity lengths in world units
  float headLength = headLengthRatio * webGLThickness;
  float tailLength = tailLengthRatio * webGLThickness;
  float minBodyLength = minBodyLengthRatio * webGLThickness;

  // Handle short edges: scale down extremities if needed
  float totalNeededLength = headLength + tailLength + minBodyLength;
  float extremityScale = 1.0;
  if (totalNeededLength > visibleLength && totalNeededLength > 0.0001) {
    extremityScale = visibleLength / totalNeededLength;
    headLength *= extremityScale;
    tailLength *= extremityScale;
  }

  // Convert lengths to t-values
  float headLengthT = pathLength > 0.0001 ? headLength / pathLength : 0.0;
  float tailLengthT = pathLength > 0.0001 ? tailLength / pathLength : 0.0;

  // Zone boundaries in t-space
  float tTailEnd = tStart + tailLengthT;
  float tHeadStart = tEnd - headLengthT;

  // Ensure body has non-negative length
  if (tTailEnd > tHeadStart) {
    float mid = (tStart + tEnd) * 0.5;
    tTailEnd = mid;
    tHeadStart = mid;
  }

  // Convert to webGL units for geometry expansion
  float aaWidthWebGL = antialiasingWidth * webGLThickness;

  // Extra geometry width for picking padding (0 in visual mode)
  #ifdef PICKING_MODE
    float pickingPaddingWebGL = u_pickingPadding * u_correctionRatio;
  #else
    float pickingPaddingWebGL = 0.0;
  #endif

  // Straight-line direction and normal (for blending when straightenFactor > 0)
  vec2 straightDir = length(a_target - a_source) > 0.0001
    ? normalize(a_target - a_source) : vec2(1.0, 0.0);
  vec2 straightNormal = vec2(-straightDir.y, straightDir.x);

  // Zone-based vertex processing using path selectors
  vec2 position;
  vec2 normal;
  float t;
  float zone = a_zone;
  float zoneT = a_zoneT;
  float side = a_side;

  // Scaled extremity width factors (geometry must be at least as wide as body)
  float scaledTailWidth = max(tailWidthFactor * extremityScale, 1.0);
  float scaledHeadWidth = max(headWidthFactor * extremityScale, 1.0);

  if (zone < 0.5) {
    // TAIL ZONE: rectangular quad with scaled width
    vec2 tang = queryPathTangent(pathId, tTailEnd, a_source, a_target);
    normal = vec2(-tang.y, tang.x);
    vec2 centerPos = mix(queryPathPosition(pathId, tStart, a_source, a_target),
                         queryPathPosition(pathId, tTailEnd, a_source, a_target), zoneT);
    float halfWidth = webGLThickness * scaledTailWidth * 0.5 + aaWidthWebGL + pickingPaddingWebGL;
    position = centerPos + normal * side * halfWidth;
    t = mix(tStart, tTailEnd, zoneT);

  } else if (zone < 1.5) {
    // BODY ZONE: follows path curvature with width = 1.0
    t = mix(tTailEnd, tHeadStart, zoneT);
    normal = queryPathNormal(pathId, t, a_source, a_target);
    float halfWidth = webGLThickness * 0.5 + aaWidthWebGL + pickingPaddingWebGL;
    position = queryPathPosition(pathId, t, a_source, a_target) + normal * side * halfWidth;

  } else {
    // HEAD ZONE: rectangular quad with scaled width
    vec2 tang = queryPathTangent(pathId, tHeadStart, a_source, a_target);
    normal = vec2(-tang.y, tang.x);
    vec2 centerPos = mix(queryPathPosition(pathId, tHeadStart, a_source, a_target),
                         queryPathPosition(pathId, tEnd, a_source, a_target), zoneT);
    float halfWidth = webGLThickness * scaledHeadWidth * 0.5 + aaWidthWebGL + pickingPaddingWebGL;
    position = centerPos + normal * side * halfWidth;
    t = mix(tHeadStart, tEnd, zoneT);
  }

  // Blend toward straight line based on path twist in extremity zones
  if (straightenFactor > 0.001) {
    float zoneWidth = zone < 0.5 ? webGLThickness * scaledTailWidth * 0.5 + aaWidthWebGL + pickingPaddingWebGL :
                      zone < 1.5 ? webGLThickness * 0.5 + aaWidthWebGL + pickingPaddingWebGL :
                      webGLThickness * scaledHeadWidth * 0.5 + aaWidthWebGL + pickingPaddingWebGL;
    vec2 straightPos = mix(a_source, a_target, t) + straightNormal * side * zoneWidth;
    position = mix(position, straightPos, straightenFactor);
  }

  gl_Position = vec4((u_matrix * vec3(position, 1.0)).xy, 0.0, 1.0);

  // Pass varyings to fragment shader
  v_color = a_color;
  v_color.a *= bias;
  v_opacity = a_opacity;
  v_id = a_id;
  v_thickness = webGLThickness;
  v_t = t;
  v_tStart = tStart;
  v_tEnd = tEnd;
  v_side = side;
  v_antialiasingWidth = antialiasingWidth;
  v_source = a_source;
  v_target = a_target;
  v_edgeLength = pathLength;

  // Zone varyings
  v_zone = zone;
  v_zoneT = zoneT;
  v_headLengthRatio = headLengthRatio * extremityScale;
  v_tailLengthRatio = tailLengthRatio * extremityScale;
  // Scale extremity width proportionally with length when crushed
  v_headWidthRatio = headWidthFactor * extremityScale;
  v_tailWidthRatio = tailWidthFactor * extremityScale;

  // Multi-path varyings
  v_pathId = pathId;
  v_headId = headId;
  v_tailId = tailId;
}
`);return y}function Mh(a,n,e,t){var r=Oe([].concat(X(a),X(e))),i=Tn(r),o=new Set(["u_matrix","u_sizeRatio","u_correctionRatio","u_zoomRatio","u_pixelRatio","u_cameraAngle","u_minEdgeThickness","u_pickingPadding"]),s=new Set,l=[],d=function(b){!o.has(b.name)&&!s.has(b.name)&&(s.add(b.name),l.push("uniform ".concat(b.type," ").concat(b.name,";")))};a.forEach(function(v){return v.uniforms.forEach(d)}),n.forEach(function(v){return v.uniforms.forEach(d)}),e.forEach(function(v){return v.uniforms.forEach(d)});var u=n.map(function(v){var b;return ge((b=v.baseRatio)!==null&&b!==void 0?b:.5)}).join(", "),f=function(b){var _,x;return n.length>1?"EXTREMITY_BASE_RATIOS[".concat(b,"]"):ge((_=(x=n[0])===null||x===void 0?void 0:x.baseRatio)!==null&&_!==void 0?_:.5)},g=n.some(function(v){return Ue(v.length)?!0:v.length>0}),h=e.some(function(v){return v.needsNodeColors}),p=a.some(function(v){return v.needsNodeSize}),y=e.map(function(v,b){return"  // Layer ".concat(b+1,": ").concat(v.name,`
  color = blendOver(color, layer_`).concat(v.name,"(context));")}).join(`

`),m=`#version 300 es
precision highp float;

// Standard varyings
in vec4 v_color;
in float v_opacity;
in vec4 v_id;
in float v_thickness;       // Edge body thickness
in float v_t;
in float v_tStart;
in float v_tEnd;
in float v_side;
in float v_antialiasingWidth;  // Anti-aliasing width (normalized: u_correctionRatio / thickness)
in vec2 v_source;
in vec2 v_target;
in float v_edgeLength;
`.concat(p?`
in float v_sourceNodeSize;   // Source node size (mirrored in labels/generator.ts as plain float)
in float v_targetNodeSize;   // Target node size (mirrored in labels/generator.ts as plain float)`:"",`
`).concat(h?`
in vec4 v_sourceColor;
in vec4 v_targetColor;`:"",`
// Zone varyings
in float v_zone;            // 0=tail, 1=body, 2=head
in float v_zoneT;           // Position within zone [0,1]
in float v_headLengthRatio; // Head length as ratio of thickness (scaled for short edges)
in float v_tailLengthRatio; // Tail length as ratio of thickness (scaled for short edges)
in float v_headWidthRatio;  // Head width factor
in float v_tailWidthRatio;  // Tail width factor

// Multi-path/extremity varyings
flat in int v_pathId;
flat in int v_headId;
flat in int v_tailId;

// Path/layer attribute varyings (from vertex shader texture fetch)
`).concat(i.fragmentVaryingDeclarations,`

// Standard uniforms (needed by some path types)
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
#ifdef PICKING_MODE
uniform float u_pickingPadding;
#endif

// Custom uniforms
`).concat(l.join(`
`),`

// Fragment output (single target - picking handled via separate pass)
out vec4 fragColor;

`).concat(n.length>1?`// Base ratio array for extremities (shared pool for head/tail)
const float EXTREMITY_BASE_RATIOS[`.concat(n.length,"] = float[](").concat(u,");"):"",`

// EdgeContext struct
struct EdgeContext {
  float t;                   // Position along path [0, 1]
  float sdf;                 // Signed distance from centerline
  vec2 position;             // World position
  vec2 tangent;              // Path tangent
  vec2 normal;               // Path normal
  float thickness;           // Edge thickness
  float aaWidth;             // Anti-aliasing width
  float edgeLength;          // Total path length
  float tStart;              // Clamped start t
  float tEnd;                // Clamped end t
  float distanceFromSource;  // Arc distance from source
  float distanceToTarget;    // Arc distance to target
};

EdgeContext context;

// Alpha "over" compositing for layer blending
vec4 blendOver(vec4 bg, vec4 fg) {
  float a = fg.a;
  return vec4(mix(bg.rgb, fg.rgb, a), bg.a + a * (1.0 - bg.a));
}

// All path functions
`).concat(Ur(a),`

// Path selector functions
`).concat(Hr(a),`

// All extremity functions
`).concat(Rh(n),`

// Extremity SDF selector (shared pool for head/tail)
`).concat(Lh(n),`

// Layer functions
`).concat(e.map(function(v){return v.glsl}).join(`

`),`

// Helper: Compute arc length using path selector
float computeArcLengthMulti(int pathId, float t0, float t1, vec2 source, vec2 target, int samples) {
  float arcLen = 0.0;
  vec2 prev = queryPathPosition(pathId, t0, source, target);
  for (int i = 1; i <= samples; i++) {
    float t = t0 + (t1 - t0) * float(i) / float(samples);
    vec2 curr = queryPathPosition(pathId, t, source, target);
    arcLen += length(curr - prev);
    prev = curr;
  }
  return arcLen;
}

void main() {
  // Compute normalized t within visible edge (0 = start, 1 = end)
  float tNorm = (v_t - v_tStart) / max(v_tEnd - v_tStart, 0.0001);

  // Edge body half-thickness
  float halfThickness = v_thickness * 0.5;

  // Convert normalized AA width to webGL units (~1 pixel)
  float aaWidthWebGL = v_antialiasingWidth * v_thickness;

  // Distance from centerline based on v_side interpolation
  float zoneWidthFactor = v_zone < 0.5 ? v_tailWidthRatio :
                          v_zone < 1.5 ? 1.0 :
                          v_headWidthRatio;
  // In PICKING_MODE, inflate halfGeometryWidth to match the inflated vertex geometry
  #ifdef PICKING_MODE
    float halfGeometryWidth = halfThickness * zoneWidthFactor + aaWidthWebGL + u_pickingPadding * aaWidthWebGL;
  #else
    float halfGeometryWidth = halfThickness * zoneWidthFactor + aaWidthWebGL;
  #endif
  float distFromCenter = abs(v_side) * halfGeometryWidth;

  // Populate EdgeContext (for layer functions)
  context.t = tNorm;
  context.sdf = distFromCenter - halfThickness;
  context.position = queryPathPosition(v_pathId, v_t, v_source, v_target);
  context.tangent = queryPathTangent(v_pathId, v_t, v_source, v_target);
  context.normal = vec2(-context.tangent.y, context.tangent.x);
  context.thickness = v_thickness;
  context.aaWidth = aaWidthWebGL;
  context.edgeLength = v_edgeLength;
  context.tStart = v_tStart;
  context.tEnd = v_tEnd;

  // Compute arc distances
  float visibleLength = v_edgeLength * (v_tEnd - v_tStart);
  float pathT = v_t;
  float pathTNorm = tNorm;
`).concat(a.every(function(v){return v.linearParameterization})?`  // All paths have linear parameterization: t maps directly to arc distance
  context.distanceFromSource = pathTNorm * visibleLength;
  context.distanceToTarget = (1.0 - pathTNorm) * visibleLength;`:a.every(function(v){return!v.linearParameterization})?`  // No paths have linear parameterization: use numerical integration
  context.distanceFromSource = computeArcLengthMulti(v_pathId, v_tStart, pathT, v_source, v_target, 16);
  context.distanceToTarget = computeArcLengthMulti(v_pathId, pathT, v_tEnd, v_source, v_target, 16);`:`  // Mixed parameterization: use analytical for linear paths, numerical for others
  if (`.concat(a.filter(function(v){return v.linearParameterization}).map(function(v){return"v_pathId == ".concat(a.indexOf(v))}).join(" || "),`) {
    context.distanceFromSource = pathTNorm * visibleLength;
    context.distanceToTarget = (1.0 - pathTNorm) * visibleLength;
  } else {
    context.distanceFromSource = computeArcLengthMulti(v_pathId, v_tStart, pathT, v_source, v_target, 16);
    context.distanceToTarget = computeArcLengthMulti(v_pathId, pathT, v_tEnd, v_source, v_target, 16);
  }`),`

  // Compute SDF based on zone using extremity selector (shared pool)
  float bodySDF = distFromCenter - halfThickness;
  float finalSDF;

`).concat(g?`  // Base ratios, from baseRatioLookup
  float headBaseRatio = `.concat(f("v_headId"),`;
  float tailBaseRatio = `).concat(f("v_tailId"),`;

  if (v_zone < 0.5) {
    // TAIL ZONE: v_zoneT goes 0 (tip) to 1 (base)
    vec2 uv = vec2((1.0 - v_zoneT) * v_tailLengthRatio, v_side * v_tailWidthRatio * 0.5);
    float tailSDF = queryExtremitySDF(v_tailId, uv, v_tailLengthRatio, v_tailWidthRatio) * v_thickness;

    // Apply union only near base (v_zoneT > 1 - baseRatio)
    if (v_zoneT > 1.0 - tailBaseRatio) {
      finalSDF = min(tailSDF, bodySDF);
    } else {
      finalSDF = tailSDF;
    }
  } else if (v_zone < 1.5) {
    // BODY ZONE: distance from centerline
    finalSDF = bodySDF;
  } else {
    // HEAD ZONE: v_zoneT goes 0 (base) to 1 (tip)
    vec2 uv = vec2(v_zoneT * v_headLengthRatio, v_side * v_headWidthRatio * 0.5);
    float headSDF = queryExtremitySDF(v_headId, uv, v_headLengthRatio, v_headWidthRatio) * v_thickness;

    // Apply union only near base (v_zoneT < baseRatio)
    if (v_zoneT < headBaseRatio) {
      finalSDF = min(headSDF, bodySDF);
    } else {
      finalSDF = headSDF;
    }
  }`):`  // No extremity draws tail/head geometry, so every vertex is body zone.
  finalSDF = bodySDF;`,`

  #ifdef PICKING_MODE
    // Picking pass: output edge ID for pixels within the picking area
    if (finalSDF > u_pickingPadding * aaWidthWebGL) discard;
    fragColor = v_id;
  #else
`).concat(t?`    // Visual pass: anti-aliased edge with layers, edge opacity applied once
    float alpha = smoothstep(aaWidthWebGL, -aaWidthWebGL, finalSDF) * v_opacity;`:`    // Visual pass: hard-edged (no anti-aliasing gradient) edge with layers, edge opacity applied once
    float alpha = (finalSDF < 0.0 ? 1.0 : 0.0) * v_opacity;`,`
    if (alpha < 0.01) discard;

    // Apply layers sequentially with "over" compositing
    vec4 color = vec4(0.0);

`).concat(y,`

    // Mix with transparent to fade both color AND alpha (pre-multiplied alpha for correct blending)
    fragColor = mix(vec4(0.0), color, alpha);
  #endif
}
`);return m}function Nh(a,n,e){var t=Ue(n.length)?!0:n.length>0,r=Ue(e.length)?!0:e.length>0;if(a.generateConstantData){var i=a.generateConstantData();return{data:i.data,attributes:i.attributes,verticesPerEdge:i.verticesPerEdge}}return Fh(a.segments,t,r)}function fs(a){var n,e=Cs(a),t=e.paths,r=e.extremities,i=e.layers,o=(n=a.antialias)!==null&&n!==void 0?n:!0,s=new Map,l=new Map,d=new Map,u=O(t),f;try{for(u.s();!(f=u.n()).done;){var g=f.value,h=O(r),p;try{for(h.s();!(p=h.n()).done;){var y=p.value,m=O(r),v;try{for(m.s();!(v=m.n()).done;){var b=v.value,_="".concat(g.name,":").concat(y.name,":").concat(b.name),x=Nh(g,y,b);s.set(_,x.verticesPerEdge),l.set(_,x.data);var T=O(x.attributes),S;try{for(T.s();!(S=T.n()).done;){var A=S.value;d.has(A.name)||d.set(A.name,A)}}catch(q){T.e(q)}finally{T.f()}}}catch(q){m.e(q)}finally{m.f()}}}catch(q){h.e(q)}finally{h.f()}}}catch(q){u.e(q)}finally{u.f()}var E=Array.from(d.values()),k={};E.forEach(function(q,Y){k[q.name]=Y});var D=0,C="",R=O(s),F;try{for(R.s();!(F=R.n()).done;){var L=ne(F.value,2),M=L[0],G=L[1];G>D&&(D=G,C=M)}}catch(q){R.e(q)}finally{R.f()}var N=l.get(C)||[],I=C.split(":"),P=ne(I,1),z=P[0],V=t.find(function(q){return q.name===z}),j=[];V!=null&&V.generateConstantData?j=V.generateConstantData().attributes:j=[{name:"a_zone"},{name:"a_zoneT"},{name:"a_side"}];var Q=N.map(function(q){var Y=new Array(E.length).fill(0);return j.forEach(function(Ae,Ee){var H=k[Ae.name];H!==void 0&&Ee<q.length&&(Y[H]=q[Ee])}),Y});return{vertexShader:Ih(t,r,i,E),fragmentShader:Mh(t,r,i,o),uniforms:Ah(t,r,i),attributes:Gh(),verticesPerEdge:D,constantData:Q,constantAttributes:E,vertexCountsPerCombination:s,constantDataPerCombination:l}}function Gh(a,n,e){return[{name:"a_edgeIndex",size:1,type:bn},{name:"a_color",size:4,type:cs,normalized:!0},{name:"a_id",size:4,type:cs,normalized:!0},{name:"a_opacity",size:1,type:bn}]}var zh=`#version 300 es
precision highp float;

in vec4 v_clamp;

// RGBA32F target: stores (tStart, tEnd, straightenFactor, pathLength).
out vec4 fragColor;

void main() {
  fragColor = v_clamp;
}
`,Oh=(function(){function a(n,e){J(this,a),w(this,"uniformLocations",{});var t=e.paths,r=e.extremities,i=e.layers,o=e.nodeShapes,s=e.nodeLayers;this.gl=n,this.hasAttributeData=Oe([].concat(X(t),X(i))).floatsPerItem>0,this.hasNodeAttributeData=Object.keys(Ht(o,s).offsets).length>0,this.vertexShader=Ir(n,Ph(t,r,i,o,s)),this.fragmentShader=Mr(n,zh),this.program=Nr(n,[this.vertexShader,this.fragmentShader]);var l=new Set;this.customUniforms=[];for(var d=0,u=[].concat(X(t),X(r));d<u.length;d++){var f=u[d],g=O(f.uniforms),h;try{for(g.s();!(h=g.n()).done;){var p=h.value;l.has(p.name)||(l.add(p.name),this.customUniforms.push(p))}}catch(_){g.e(_)}finally{g.f()}}var y=["u_sizeRatio","u_correctionRatio","u_cameraAngle","u_minEdgeThickness","u_nodeDataTexture","u_nodeDataTextureWidth","u_edgeDataTexture","u_edgeDataTextureWidth","u_edgeAttributeTexture","u_edgeAttributeTextureWidth","u_edgeAttributeTexelsPerEdge","u_layerAttributeTexture","u_layerAttributeTextureWidth","u_layerAttributeTexelsPerNode","u_frameTextureWidth","u_frameTextureHeight"].concat(X(this.customUniforms.map(function(_){return _.name}))),m=O(y),v;try{for(m.s();!(v=m.n()).done;){var b=v.value;this.uniformLocations[b]=n.getUniformLocation(this.program,b)}}catch(_){m.e(_)}finally{m.f()}this.vao=n.createVertexArray()}return ee(a,[{key:"run",value:function(e,t,r,i,o){if(r!==0){var s=this.gl,l=this.uniformLocations;s.useProgram(this.program),s.bindVertexArray(this.vao),l.u_sizeRatio&&s.uniform1f(l.u_sizeRatio,e.sizeRatio),l.u_correctionRatio&&s.uniform1f(l.u_correctionRatio,e.correctionRatio),l.u_cameraAngle&&s.uniform1f(l.u_cameraAngle,e.cameraAngle),l.u_minEdgeThickness&&s.uniform1f(l.u_minEdgeThickness,e.minEdgeThickness),l.u_nodeDataTexture&&s.uniform1i(l.u_nodeDataTexture,e.nodeDataTextureUnit),l.u_nodeDataTextureWidth&&s.uniform1i(l.u_nodeDataTextureWidth,e.nodeDataTextureWidth),l.u_edgeDataTexture&&s.uniform1i(l.u_edgeDataTexture,e.edgeDataTextureUnit),l.u_edgeDataTextureWidth&&s.uniform1i(l.u_edgeDataTextureWidth,e.edgeDataTextureWidth),l.u_frameTextureWidth&&s.uniform1f(l.u_frameTextureWidth,t.getTextureWidth()),l.u_frameTextureHeight&&s.uniform1f(l.u_frameTextureHeight,t.getTextureHeight()),this.hasAttributeData&&i&&(i.bind(st),l.u_edgeAttributeTexture&&s.uniform1i(l.u_edgeAttributeTexture,st),l.u_edgeAttributeTextureWidth&&s.uniform1i(l.u_edgeAttributeTextureWidth,i.getTextureWidth()),l.u_edgeAttributeTexelsPerEdge&&s.uniform1i(l.u_edgeAttributeTexelsPerEdge,i.getTexelsPerItem())),this.hasNodeAttributeData&&o&&(o.bind(ot),l.u_layerAttributeTexture&&s.uniform1i(l.u_layerAttributeTexture,ot),l.u_layerAttributeTextureWidth&&s.uniform1i(l.u_layerAttributeTextureWidth,o.getTextureWidth()),l.u_layerAttributeTexelsPerNode&&s.uniform1i(l.u_layerAttributeTexelsPerNode,o.getTexelsPerItem()));var d=O(this.customUniforms),u;try{for(d.s();!(u=d.n()).done;){var f=u.value;Br(s,this.uniformLocations[f.name],f)}}catch(g){d.e(g)}finally{d.f()}t.bindAsRenderTarget(),s.disable(s.BLEND),s.disable(s.DEPTH_TEST),s.drawArrays(s.POINTS,0,r),s.bindFramebuffer(s.FRAMEBUFFER,null),s.bindVertexArray(null)}}},{key:"kill",value:function(){var e=this.gl;e.deleteProgram(this.program),e.deleteShader(this.vertexShader),e.deleteShader(this.fragmentShader),e.deleteVertexArray(this.vao)}}])})();function vn(a,n,e,t,r,i){if(a.length===1)return"".concat(t," ").concat(n,"(int pathId, ").concat(r,`) {
  return path_`).concat(a[0].name,"_").concat(e,"(").concat(i,`);
}`);var o=a.map(function(s,l){return"    case ".concat(l,": return path_").concat(s.name,"_").concat(e,"(").concat(i,");")}).join(`
`);return"".concat(t," ").concat(n,"(int pathId, ").concat(r,`) {
  switch (pathId) {
`).concat(o,`
    default: return path_`).concat(a[0].name,"_").concat(e,"(").concat(i,`);
  }
}`)}var Wh=`
vec3 computeEdgeLabelBodyBounds(
  float tStart, float tEnd, float pathLength,
  float webGLThickness, float headLengthRatio, float tailLengthRatio
) {
  float visibleLength = pathLength * (tEnd - tStart);

  float headLength = headLengthRatio * webGLThickness;
  float tailLength = tailLengthRatio * webGLThickness;
  float totalNeededLength = headLength + tailLength;
  if (totalNeededLength > visibleLength && totalNeededLength > 0.0001) {
    float extremityScale = visibleLength / totalNeededLength;
    headLength *= extremityScale;
    tailLength *= extremityScale;
  }

  float bodyStartDist = tStart * pathLength + tailLength;
  float bodyEndDist = tEnd * pathLength - headLength;
  return vec3(bodyStartDist, bodyEndDist, max(bodyEndDist - bodyStartDist, 0.0));
}
`;function Bh(a,n){var e=ge(a),t=ge(n);return`
float computeEdgeLabelAlpha(float bodyLength, float textWidthWebGL) {
  float ratio = textWidthWebGL > 0.0001 ? min(bodyLength / textWidthWebGL, 1.0) : 1.0;
  if (ratio < `.concat(e,`) return 0.0;
  if (ratio < `).concat(t,") return (ratio - ").concat(e,") / (").concat(t," - ").concat(e,`);
  return 1.0;
}
`)}var Uh=`
float computeEdgeLabelScreenDir(int pathId, float t, vec2 source, vec2 target, mat3 matrix) {
  vec2 tangent = queryPathTangent(pathId, t, source, target);
  return (matrix * vec3(tangent, 0.0)).x < 0.0 ? -1.0 : 1.0;
}
`,Hh=`
float computeEdgeLabelPerpOffset(
  float positionMode,
  float halfThickness, float marginWebGL, float halfTextHeight,
  float readingSign, float screenDir
) {
  float magnitude = halfThickness + marginWebGL + halfTextHeight;
  if (positionMode == 1.0) return magnitude * readingSign;
  if (positionMode == 2.0) return -magnitude * readingSign;
  if (positionMode == 3.0) return magnitude * screenDir;
  return 0.0;
}
`;function Fs(a){var n=a.paths,e=a.minVisibilityThreshold,t=a.fullVisibilityThreshold,r=n.some(function(s){return s.hasSharpCorners}),i=n.map(function(s){return"// --- Path: ".concat(s.name,` ---
`).concat(s.glsl,`

// Tangent/normal functions: analytical if provided, otherwise numerical
`).concat(s.analyticalTangentGlsl||ks(s.name),`

// Auto-generated fallbacks for any missing path functions
`).concat(Ls(s.name,s.glsl),`

// Corner skip helpers (for paths with sharp corners like step/taxi)
`).concat(s.cornerSkipGlsl||"",`
`)}).join(`
`),o=r?`// Corner function selectors (only some paths have sharp corners)
vec2 queryGetCornerTs(int pathId, vec2 source, vec2 target) {
  switch (pathId) {
`.concat(n.map(function(s,l){return s.hasSharpCorners?"    case ".concat(l,": return path_").concat(s.name,"_getCornerTs(source, target);"):"    case ".concat(l,": return vec2(-1.0, -1.0); // No corners for ").concat(s.name)}).join(`
`),`
    default: return vec2(-1.0, -1.0);
  }
}

vec2 queryGetCornerConcavity(int pathId, vec2 source, vec2 target, float perpOffset) {
  switch (pathId) {
`).concat(n.map(function(s,l){return s.hasSharpCorners?"    case ".concat(l,": return path_").concat(s.name,"_getCornerConcavity(source, target, perpOffset);"):"    case ".concat(l,": return vec2(0.0, 0.0); // No corners for ").concat(s.name)}).join(`
`),`
    default: return vec2(0.0, 0.0);
  }
}`):"";return`
// ============================================================================
// Node data fetch (geometry texel) and per-edge clamp fetch (edge-frame texture)
// ============================================================================

`.concat(Ze,`
`).concat(Ut,`

// ============================================================================
// Path Functions (one block per path)
// ============================================================================

`).concat(i,`

// ============================================================================
// Path Query Selectors (dispatch by pathId)
// ============================================================================

`).concat(vn(n,"queryPathPosition","position","vec2","float t, vec2 source, vec2 target","t, source, target"),`

`).concat(vn(n,"queryPathTangent","tangent","vec2","float t, vec2 source, vec2 target","t, source, target"),`

`).concat(vn(n,"queryPathNormal","normal","vec2","float t, vec2 source, vec2 target","t, source, target"),`

`).concat(vn(n,"queryPathLength","length","float","vec2 source, vec2 target","source, target"),`

`).concat(vn(n,"queryPathTAtDistance","t_at_distance","float","float dist, vec2 source, vec2 target","dist, source, target"),`

`).concat(o,`

// ============================================================================
// Shared helpers (body bounds, alpha ramp, screen direction, perpendicular offset)
// ============================================================================

`).concat(Wh,`
`).concat(Bh(e,t),`
`).concat(Uh,`
`).concat(Hh,`
`)}var $h=Ve.fontSize,Vh=new Map,Is=24,gs=(Is+1)*2;function jh(a){var n=a.paths,e=a.fontSizeMode,t=a.headLengthRatio,r=a.tailLengthRatio,i=a.minVisibilityThreshold,o=a.fullVisibilityThreshold,s=a.keepUpright,l=e==="scaled",d=$e(),u=Oe([].concat(X(n),[d])),f=Tn(u),g=`#version 300 es

// Per-instance attributes
in float a_edgeIndex;
in float a_edgeAttrIndex;
in float a_baseFontSize;
in float a_totalTextWidth;
in float a_positionMode;
in float a_margin;
in float a_padding;
in vec4 a_color;
in vec4 a_id;

// Per-vertex (constant) attribute: strip vertex index
in float a_vertexIndex;

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_pixelRatio;
uniform float u_cameraAngle;
uniform vec2 u_resolution;
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_edgeDataTexture;
uniform int u_edgeDataTextureWidth;
uniform sampler2D u_edgeFrameTexture; // Per-edge clamp (tStart, tEnd, straightenFactor, pathLength)
uniform int u_edgeFrameTextureWidth;
`.concat(l?"uniform float u_zoomSizeRatio;":"",`

`).concat(f.uniformDeclarations,`

out vec4 v_color;
out vec4 v_id;
out float v_alphaModifier;

const float ATLAS_FONT_SIZE = `).concat(ge($h),`;
const float HEAD_RATIO = `).concat(ge(t),`;
const float TAIL_RATIO = `).concat(ge(r),`;
const int RIBBON_SEGMENTS = `).concat(Is,`;

// Path attribute varyings (declared as plain locals since this shader has no FS inputs for them)
`).concat(f.vertexVaryingDeclarations.replace(/out /g,""),`

// Node size variables used by some path functions (self-loops, etc.)
float v_sourceNodeSize;
float v_targetNodeSize;

// Shared preamble: shape SDFs, path functions + selectors, clamp, helpers.
`).concat(Fs({paths:n,minVisibilityThreshold:i,fullVisibilityThreshold:o}),`

void main() {
  int vIdx = int(a_vertexIndex);
  int pairIdx = vIdx / 2;
  int side = vIdx - pairIdx * 2; // 0 = left/bottom, 1 = right/top

  // --- Fetch edge data (2 texels per edge) ---
  int edgeIdx = int(a_edgeIndex);
  int texel0Idx = edgeIdx * 2;
  int texel1Idx = edgeIdx * 2 + 1;
  ivec2 e0 = ivec2(texel0Idx % u_edgeDataTextureWidth, texel0Idx / u_edgeDataTextureWidth);
  ivec2 e1 = ivec2(texel1Idx % u_edgeDataTextureWidth, texel1Idx / u_edgeDataTextureWidth);
  vec4 edgeData0 = texelFetch(u_edgeDataTexture, e0, 0);
  vec4 edgeData1 = texelFetch(u_edgeDataTexture, e1, 0);

  int srcIdx = int(edgeData0.x);
  int tgtIdx = int(edgeData0.y);
  float thickness = edgeData0.z;
  int pathId = int(edgeData1.z);

  // --- Fetch path attributes (curvature, etc.) ---
  {
    int edgeIdx = int(a_edgeAttrIndex);
`).concat(f.fetchCode,`
`).concat(f.varyingAssignments,`
  }

  // --- Fetch node data: geometry (texel 0) + rotation flags (texel 1) ---
  vec4 srcN = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx);
  vec4 tgtN = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx);

  vec2 source = srcN.xy;
  vec2 target = tgtN.xy;
  float sourceSize = srcN.z;
  float targetSize = tgtN.z;
  v_sourceNodeSize = sourceSize;
  v_targetNodeSize = targetSize;

  // --- Pixel-to-graph conversion (fixed font mode) ---
  float matrixScaleX = length(vec2(u_matrix[0][0], u_matrix[1][0]));
  float pixelToGraph = 2.0 / (matrixScaleX * u_resolution.x);

  float webGLThickness = thickness * u_correctionRatio / u_sizeRatio;

  // --- Body bounds (shared with edge label shader) ---
  vec4 edgeClamp = readFrameTexel(u_edgeFrameTexture, u_edgeFrameTextureWidth, edgeIdx);
  vec3 bodyBounds = computeEdgeLabelBodyBounds(
    edgeClamp.x, edgeClamp.y, edgeClamp.w,
    webGLThickness, HEAD_RATIO, TAIL_RATIO
  );
  float bodyStartDist = bodyBounds.x;
  float bodyEndDist = bodyBounds.y;
  float bodyLength = bodyBounds.z;

  // --- Text dimensions ---
  float baseFontSize = a_baseFontSize;
  `).concat(l?`float fontScale = baseFontSize / ATLAS_FONT_SIZE * u_zoomSizeRatio;
  float textWidthWebGL = a_totalTextWidth * fontScale * u_correctionRatio / u_sizeRatio;
  float halfTextHeight = baseFontSize * 0.35 * u_zoomSizeRatio * u_correctionRatio / u_sizeRatio;
  float marginWebGL = a_margin * u_zoomSizeRatio * u_correctionRatio / u_sizeRatio;`:`float fontScale = baseFontSize / ATLAS_FONT_SIZE;
  float textWidthWebGL = a_totalTextWidth * fontScale * pixelToGraph;
  float halfTextHeight = baseFontSize * 0.35 * pixelToGraph;
  float marginWebGL = a_margin * pixelToGraph;`,`
  float paddingWebGL = a_padding * pixelToGraph;

  // --- Alpha modifier (shared with edge label shader) ---
  float alphaModifier = computeEdgeLabelAlpha(bodyLength, textWidthWebGL);
  if (alphaModifier <= 0.0 || textWidthWebGL <= 0.0) {
    gl_Position = vec4(2.0, 0.0, 0.0, 1.0);
    v_color = vec4(0.0);
    v_id = vec4(0.0);
    v_alphaModifier = 0.0;
    return;
  }

  // --- Perpendicular offset (shared with edge label shader) ---
  float bodyCenterDist = (bodyStartDist + bodyEndDist) * 0.5;
  float centerT = queryPathTAtDistance(pathId, bodyCenterDist, source, target);
  float screenDir = computeEdgeLabelScreenDir(pathId, centerT, source, target, u_matrix);
  float readingSign = `).concat(s?"screenDir":"1.0",`;
  float halfThickness = webGLThickness * 0.5;
  float perpOffset = computeEdgeLabelPerpOffset(
    a_positionMode, halfThickness, marginWebGL, halfTextHeight, readingSign, screenDir
  );

  // --- Ribbon span (clipped to body) ---
  float halfTextWebGL = textWidthWebGL * 0.5;
  float labelStartDist = max(bodyCenterDist - halfTextWebGL, bodyStartDist);
  float labelEndDist = min(bodyCenterDist + halfTextWebGL, bodyEndDist);

  // Sample centerline at this pair, then apply perpendicular offset.
  // The ribbon follows the centerline path (simple & robust); for curved edges
  // this closely matches the offset path the characters sit on.
  float u = float(pairIdx) / float(RIBBON_SEGMENTS);
  float arcDist = mix(labelStartDist, labelEndDist, u);
  float t = queryPathTAtDistance(pathId, arcDist, source, target);
  vec2 pos = queryPathPosition(pathId, t, source, target);
  vec2 tan = queryPathTangent(pathId, t, source, target);
  vec2 perp = vec2(-tan.y, tan.x);

  vec2 centerPos = pos + perp * perpOffset;

  float halfRibbon = halfTextHeight + paddingWebGL;
  float sideSign = side == 0 ? -1.0 : 1.0;
  vec2 ribbonPos = centerPos + perp * (sideSign * halfRibbon);

  vec3 clipPos = u_matrix * vec3(ribbonPos, 1.0);
  gl_Position = vec4(clipPos.xy, 0.0, 1.0);

  v_color = a_color;
  v_id = a_id;
  v_alphaModifier = alphaModifier;
}
`);return g}var Xh=`#version 300 es
precision highp float;

in vec4 v_color;
in vec4 v_id;
in float v_alphaModifier;

out vec4 fragColor;

void main() {
#ifdef PICKING_MODE
  if (v_alphaModifier <= 0.0) discard;
  fragColor = v_id;
#else
  float alpha = v_color.a * v_alphaModifier;
  if (alpha <= 0.0) discard;
  fragColor = vec4(v_color.rgb * alpha, alpha);
#endif
}
`;function qh(a,n,e,t){var r=t.shaderConfig,i=r.paths,o=r.fontSizeMode;if(i.length===0)throw new Error("createEdgeLabelBackgroundProgram: shaderConfig must declare at least one path");var s=$e(),l=Oe([].concat(X(i),[s])),d=Ea([].concat(X(i),[s]),l),u=jh(r),f=(function(g){function h(p,y,m){var v;return J(this,h),v=ce(this,h,[p,y,m]),w(v,"totalCount",0),w(v,"bufferCapacity",0),w(v,"edgeAttributeTexture",null),v.edgeAttributeTexture=new Sa(p,l),v.packedAttributeData=new Float32Array(l.floatsPerItem),v}return he(h,g),ee(h,[{key:"getDefinition",value:function(){for(var y=WebGL2RenderingContext,m=y.FLOAT,v=y.UNSIGNED_BYTE,b=y.TRIANGLE_STRIP,_=[],x=0;x<gs;x++)_.push([x]);var T=["u_matrix","u_sizeRatio","u_correctionRatio","u_pixelRatio","u_cameraAngle","u_resolution","u_nodeDataTexture","u_nodeDataTextureWidth","u_edgeDataTexture","u_edgeDataTextureWidth","u_edgeFrameTexture","u_edgeFrameTextureWidth"];return o==="scaled"&&T.push("u_zoomSizeRatio"),l.floatsPerItem>0&&T.push("u_edgeAttributeTexture","u_edgeAttributeTextureWidth","u_edgeAttributeTexelsPerEdge"),{VERTICES:gs,VERTEX_SHADER_SOURCE:u,FRAGMENT_SHADER_SOURCE:Xh,METHOD:b,UNIFORMS:T,ATTRIBUTES:[{name:"a_edgeIndex",size:1,type:m},{name:"a_edgeAttrIndex",size:1,type:m},{name:"a_baseFontSize",size:1,type:m},{name:"a_totalTextWidth",size:1,type:m},{name:"a_positionMode",size:1,type:m},{name:"a_margin",size:1,type:m},{name:"a_padding",size:1,type:m},{name:"a_color",size:4,type:v,normalized:!0},{name:"a_id",size:4,type:v,normalized:!0}],CONSTANT_ATTRIBUTES:[{name:"a_vertexIndex",size:1,type:m}],CONSTANT_DATA:_}}},{key:"processEdgeLabelBackground",value:function(y,m,v){var b=0;if(this.edgeAttributeTexture&&l.floatsPerItem>0){b=this.edgeAttributeTexture.allocate(m);var _=this.packedAttributeData;wa(d,v.edgeAttributes,_,"",Vh,0),this.edgeAttributeTexture.updateAllAttributes(m,_)}var x=this.floats,T=this.ints,S=y*this.STRIDE;x[S++]=v.edgeIndex,x[S++]=b,x[S++]=v.baseFontSize,x[S++]=v.totalTextWidth,x[S++]=v.positionMode,x[S++]=v.margin,x[S++]=v.padding,x[S++]=v.color,T[S++]=v.id}},{key:"setUniforms",value:function(y,m){var v=m.gl,b=m.uniformLocations;if(v.uniformMatrix3fv(b.u_matrix,!1,y.matrix),v.uniform1f(b.u_sizeRatio,y.sizeRatio),v.uniform1f(b.u_correctionRatio,y.correctionRatio),v.uniform1f(b.u_pixelRatio,y.pixelRatio),v.uniform1f(b.u_cameraAngle,y.cameraAngle),v.uniform2f(b.u_resolution,y.width,y.height),b.u_nodeDataTexture!==void 0&&v.uniform1i(b.u_nodeDataTexture,y.nodeDataTextureUnit),b.u_nodeDataTextureWidth!==void 0&&v.uniform1i(b.u_nodeDataTextureWidth,y.nodeDataTextureWidth),b.u_edgeDataTexture!==void 0&&v.uniform1i(b.u_edgeDataTexture,y.edgeDataTextureUnit),b.u_edgeDataTextureWidth!==void 0&&v.uniform1i(b.u_edgeDataTextureWidth,y.edgeDataTextureWidth),b.u_edgeFrameTexture!==void 0&&v.uniform1i(b.u_edgeFrameTexture,y.edgeFrameTextureUnit),b.u_edgeFrameTextureWidth!==void 0&&v.uniform1i(b.u_edgeFrameTextureWidth,y.edgeFrameTextureWidth),o==="scaled"&&b.u_zoomSizeRatio!==void 0){var _=this.renderer.getSetting("zoomToSizeRatioFunction");v.uniform1f(b.u_zoomSizeRatio,1/_(y.zoomRatio))}this.edgeAttributeTexture&&l.floatsPerItem>0&&b.u_edgeAttributeTexture!==void 0&&(this.edgeAttributeTexture.bind(st),v.uniform1i(b.u_edgeAttributeTexture,st),v.uniform1i(b.u_edgeAttributeTextureWidth,this.edgeAttributeTexture.getTextureWidth()),v.uniform1i(b.u_edgeAttributeTexelsPerEdge,this.edgeAttributeTexture.getTexelsPerItem()))}},{key:"renderProgram",value:function(y,m){this.edgeAttributeTexture&&l.floatsPerItem>0&&this.edgeAttributeTexture.upload(),ye(h,"renderProgram",this,3)([y,m])}},{key:"kill",value:function(){this.edgeAttributeTexture&&(this.edgeAttributeTexture.kill(),this.edgeAttributeTexture=null),ye(h,"kill",this,3)([])}},{key:"drawWebGL",value:function(y,m){var v=m.gl;this.totalCount!==0&&v.drawArraysInstanced(v.TRIANGLE_STRIP,0,this.VERTICES,this.totalCount)}},{key:"reallocate",value:function(y){this.totalCount=y,y>this.bufferCapacity&&(this.bufferCapacity=Math.max(y,Math.ceil(this.bufferCapacity*1.5)||10),ye(h,"reallocate",this,3)([this.bufferCapacity]))}}])})(_t);return new f(a,n,e)}function Ms(a){var n,e,t,r,i,o;return{paths:a.paths,headLengthRatio:(n=a.headLengthRatio)!==null&&n!==void 0?n:0,tailLengthRatio:(e=a.tailLengthRatio)!==null&&e!==void 0?e:0,fontSizeMode:(t=a.fontSizeMode)!==null&&t!==void 0?t:"fixed",minVisibilityThreshold:(r=a.minVisibilityThreshold)!==null&&r!==void 0?r:.7,fullVisibilityThreshold:(i=a.fullVisibilityThreshold)!==null&&i!==void 0?i:.8,keepUpright:(o=a.keepUpright)!==null&&o!==void 0?o:!0}}var Kh=Ve.fontSize,Yh=17/64;function Zh(a){var n=a.paths,e=a.hasBorder,t=e===void 0?!1:e,r=a.fontSizeMode,i=r===void 0?"fixed":r,o=a.minVisibilityThreshold,s=o===void 0?.5:o,l=a.fullVisibilityThreshold,d=l===void 0?.6:l,u=a.keepUpright,f=u===void 0?!0:u,g=i==="scaled",h=n.some(function(b){return b.hasSharpCorners}),p=$e(),y=Oe([].concat(X(n),[p])),m=Tn(y),v=`#version 300 es

// ============================================================================
// Attributes - Per Character (Instanced)
// ============================================================================

// Edge geometry: indices for texture lookup
// Edge data (source/target node indices, thickness, head/tail ratios) is fetched from edge data texture
// Edge path attributes (curvature, etc.) are fetched from edge attribute texture
in float a_edgeIndex;       // Index into edge data texture
in float a_edgeAttrIndex;   // Index into edge attribute texture (for curvature, etc.)
in float a_baseFontSize;    // Base font size in pixels (per-label)

// Character metrics (in glyph units = atlas font size pixels)
in vec4 a_charMetrics;      // (charTextOffset, charAdvance, totalTextWidth, positionMode)
in vec4 a_charDims;         // (charSize.x, charSize.y, charOffset.x, charOffset.y)

// Atlas texture coordinates
in vec4 a_texCoords;        // (x, y, width, height) in atlas pixels

// Label parameters
in vec2 a_labelParams;      // (margin, unused)

// Appearance
in vec4 a_color;            // Character color (RGBA, normalized)
`.concat(t?"in vec4 a_borderColor;      // Border color (RGBA, normalized)":"",`

// ============================================================================
// Attributes - Per Vertex (Constant)
// ============================================================================

in vec2 a_quadCorner;       // Quad corner: (0,0), (1,0), (0,1), (1,1)

// ============================================================================
// Uniforms
// ============================================================================

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_pixelRatio;
uniform float u_cameraAngle;    // Required by node shape SDFs
// u_sdfBufferPixels kept for ABI compatibility but unused in shader
uniform float u_sdfBufferPixels;
uniform vec2 u_resolution;
uniform vec2 u_atlasSize;
uniform sampler2D u_nodeDataTexture; // Shared texture with node position/size/shape data
uniform int u_nodeDataTextureWidth;  // Width of 2D node data texture for coordinate calculation
uniform sampler2D u_edgeDataTexture; // Shared texture with edge data
uniform int u_edgeDataTextureWidth;  // Width of 2D edge data texture for coordinate calculation
uniform sampler2D u_edgeFrameTexture; // Per-edge clamp (tStart, tEnd, straightenFactor, pathLength)
uniform int u_edgeFrameTextureWidth;
`).concat(g?"uniform float u_zoomSizeRatio;  // Zoom-based size ratio from zoomToSizeRatioFunction":"",`

// Edge path attribute texture uniforms (for curvature and other path attributes)
`).concat(m.uniformDeclarations,`

// ============================================================================
// Varyings
// ============================================================================

out vec2 v_texCoord;
out vec4 v_color;
`).concat(t?"out vec4 v_borderColor;":"",`
out float v_edgeFade;  // 0 = fully visible, 1 = fully faded (outside body)
out float v_alphaModifier;  // 0-1 based on label visibility ratio
out float v_fontScale;  // Ratio of rendered font size to atlas font size
`).concat(t?"out float v_positionMode;  // Position mode for conditional border (0=over needs border)":"",`

// ============================================================================
// Constants
// ============================================================================

const float bias = 255.0 / 254.0;
const float FADE_WIDTH_PIXELS = 15.0;  // Width of fade gradient in pixels
const float ATLAS_FONT_SIZE = `).concat(ge(Kh),`;  // Base font size used in SDF atlas
const float VERTICAL_CENTER_RATIO = `).concat(ge(Yh),`;  // Baseline to visual center ratio

// ============================================================================
// Path Attribute Variables (set in main, used by path functions)
// ============================================================================
// Path attributes are fetched from the edge attribute texture and stored in
// variables with v_ prefix (e.g., v_curvature) for path functions to access.
`).concat(m.vertexVaryingDeclarations.replace(/out /g,""),`

// Node size variables (set in main, used by some path functions like loops).
// These mirror the v_sourceNodeSize / v_targetNodeSize varyings in generator.ts,
// but are plain floats here since the label shader is vertex-only.
float v_sourceNodeSize;
float v_targetNodeSize;

// Shared preamble: shape SDFs, path functions + selectors, clamp, helpers.
`).concat(Fs({paths:n,minVisibilityThreshold:s,fullVisibilityThreshold:d}),`

// ============================================================================
// Main
// ============================================================================

void main() {
  // -------------------------------------------------------------------------
  // Fetch edge data from edge texture (2 texels per edge)
  // -------------------------------------------------------------------------
  // Texel 0: sourceNodeIndex, targetNodeIndex, thickness, reserved
  // Texel 1: headLengthRatio, tailLengthRatio, pathId, extremityIds
  int edgeIdx = int(a_edgeIndex);
  int texel0Idx = edgeIdx * 2;
  int texel1Idx = edgeIdx * 2 + 1;
  ivec2 edgeTexCoord0 = ivec2(texel0Idx % u_edgeDataTextureWidth, texel0Idx / u_edgeDataTextureWidth);
  ivec2 edgeTexCoord1 = ivec2(texel1Idx % u_edgeDataTextureWidth, texel1Idx / u_edgeDataTextureWidth);
  vec4 edgeData0 = texelFetch(u_edgeDataTexture, edgeTexCoord0, 0);
  vec4 edgeData1 = texelFetch(u_edgeDataTexture, edgeTexCoord1, 0);

  // Unpack edge data
  int srcIdx = int(edgeData0.x);
  int tgtIdx = int(edgeData0.y);
  float thickness = edgeData0.z;
  // edgeData0.w is reserved
  float headLengthRatio = edgeData1.x;
  float tailLengthRatio = edgeData1.y;
  int pathId = int(edgeData1.z);  // Path type for multi-path support
  float baseFontSize = a_baseFontSize;

  // -------------------------------------------------------------------------
  // Fetch path attributes from edge attribute texture
  // -------------------------------------------------------------------------
  // Note: The fetch code uses 'edgeIdx' variable, so we set it to the attribute texture index
  {
    int edgeIdx = int(a_edgeAttrIndex);  // Use attribute texture index for path attributes
`).concat(m.fetchCode,`
`).concat(m.varyingAssignments,`
  }

  // -------------------------------------------------------------------------
  // Fetch node data from node texture (geometry texel + rotation-flags texel)
  // -------------------------------------------------------------------------
  vec4 srcNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx);
  vec4 tgtNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx);

  vec2 source = srcNodeData.xy;
  vec2 target = tgtNodeData.xy;
  float sourceSize = srcNodeData.z;
  float targetSize = tgtNodeData.z;
  v_sourceNodeSize = sourceSize;
  v_targetNodeSize = targetSize;
  float charTextOffset = a_charMetrics.x;
  float charAdvance = a_charMetrics.y;
  float totalTextWidth = a_charMetrics.z;
  float positionMode = a_charMetrics.w;
  vec2 charSize = a_charDims.xy;
  vec2 charOffset = a_charDims.zw;
  float margin = a_labelParams.x;

  // -------------------------------------------------------------------------
  // Compute pixel-to-graph conversion (for fixed font size mode)
  // -------------------------------------------------------------------------
  // This converts screen pixels to graph units such that N pixels on screen
  // becomes N pixels regardless of zoom level.
  // matrixScaleX is how much the matrix scales graph units to clip space
  float matrixScaleX = length(vec2(u_matrix[0][0], u_matrix[1][0]));
  float pixelToGraph = 2.0 / (matrixScaleX * u_resolution.x);

  // -------------------------------------------------------------------------
  // Step 1: Convert thickness to WebGL units
  // -------------------------------------------------------------------------
  float webGLThickness = thickness * u_correctionRatio / u_sizeRatio;

  // -------------------------------------------------------------------------
  // Step 2: Compute body bounds (truncated at node boundaries + extremities)
  // -------------------------------------------------------------------------
  vec4 edgeClamp = readFrameTexel(u_edgeFrameTexture, u_edgeFrameTextureWidth, edgeIdx);
  vec3 bodyBounds = computeEdgeLabelBodyBounds(
    edgeClamp.x, edgeClamp.y, edgeClamp.w,
    webGLThickness, headLengthRatio, tailLengthRatio
  );
  float bodyStartDist = bodyBounds.x;
  float bodyEndDist = bodyBounds.y;
  float bodyLength = bodyBounds.z;

  // -------------------------------------------------------------------------
  // Step 3: Compute font scale and text dimensions
  // -------------------------------------------------------------------------
  // Font size modes:
  // - "fixed": Constant pixel size regardless of zoom, using pixelToGraph conversion
  // - "scaled": Scales with zoom using zoomToSizeRatioFunction
  `).concat(g?`// Scaled mode: font scales with zoom
  float fontScale = baseFontSize / ATLAS_FONT_SIZE * u_zoomSizeRatio;
  // Convert glyph-unit metrics to WebGL units (scales with zoom)
  float textWidthWebGL = totalTextWidth * fontScale * u_correctionRatio / u_sizeRatio;
  float charOffsetWebGL = charTextOffset * fontScale * u_correctionRatio / u_sizeRatio;
  float charAdvanceWebGL = charAdvance * fontScale * u_correctionRatio / u_sizeRatio;`:`// Fixed mode: font stays constant in screen pixels
  float fontScale = baseFontSize / ATLAS_FONT_SIZE;
  // Convert glyph-unit metrics to graph units using pixelToGraph (zoom-independent)
  float textWidthWebGL = totalTextWidth * fontScale * pixelToGraph;
  float charOffsetWebGL = charTextOffset * fontScale * pixelToGraph;
  float charAdvanceWebGL = charAdvance * fontScale * pixelToGraph;`,`

  // Font scale varying for fragment shader gamma scaling.
  // Ratio of rendered font size to atlas font size — used to tighten the
  // anti-aliasing band for large labels so they stay sharp.
  v_fontScale = fontScale;

  // -------------------------------------------------------------------------
  // Step 4: Alpha modifier from how much of the label fits in the body
  // -------------------------------------------------------------------------
  float alphaModifier = computeEdgeLabelAlpha(bodyLength, textWidthWebGL);

  // -------------------------------------------------------------------------
  // Step 5: Compute character center offset (truncation check moved to after curvature adjustment)
  // -------------------------------------------------------------------------
  // Body center in arc distance
  float bodyCenterDist = (bodyStartDist + bodyEndDist) * 0.5;

  float centerT = queryPathTAtDistance(pathId, bodyCenterDist, source, target);
  float screenDir = computeEdgeLabelScreenDir(pathId, centerT, source, target, u_matrix);

  // Reversed labels lay their characters out from target to source
  float readingSign = `).concat(f?"screenDir":"1.0",`;

  // Character center position relative to label center (on centerline, before curvature adjustment)
  float charCenterOffset = readingSign * (charOffsetWebGL + charAdvanceWebGL * 0.5 - textWidthWebGL * 0.5);

  // -------------------------------------------------------------------------
  // Step 6: Compute perpendicular offset based on position mode
  // -------------------------------------------------------------------------
  // Position modes: 0=over, 1=above, 2=below, 3=auto
  // Needed early for curvature-adaptive character spacing in Step 7
  float halfThickness = webGLThickness * 0.5;
  `).concat(g?`// Scaled mode: margin and text height scale with zoom (same factor as font)
  float marginWebGL = margin * u_zoomSizeRatio * u_correctionRatio / u_sizeRatio;
  float halfTextHeight = baseFontSize * 0.35 * u_zoomSizeRatio * u_correctionRatio / u_sizeRatio;`:`// Fixed mode: margin and text height stay constant in screen pixels
  float marginWebGL = margin * pixelToGraph;
  float halfTextHeight = baseFontSize * 0.35 * pixelToGraph;`,`
  float perpOffset = computeEdgeLabelPerpOffset(
    positionMode, halfThickness, marginWebGL, halfTextHeight, readingSign, screenDir
  );

  // -------------------------------------------------------------------------
  // Step 7: Position character on path using offset path traversal
  // -------------------------------------------------------------------------
  // For "over" mode (perpOffset = 0), use simple centerline placement
  // For above/below modes, walk along the offset path to find correct position
  float charT;

  if (perpOffset == 0.0) {
    // Simple case: place on centerline
    float charArcDist = bodyCenterDist + charCenterOffset;
    charT = queryPathTAtDistance(pathId, charArcDist, source, target);
  } else {
    // Offset path traversal: walk along the offset curve to find character position
    // This ensures even character spacing regardless of curvature

    `).concat(h?`// -----------------------------------------------------------------------
    // Corner skip setup for step/taxi edges with above/below labels
    // -----------------------------------------------------------------------
    // At concave corners (inner side of the bend), characters would bunch up
    // because the offset path has near-zero arc length. We detect corner
    // crossings during the offset path traversal and add skip distance.

    // Get corner t values and concavity
    vec2 cornerTs = queryGetCornerTs(pathId, source, target);
    vec2 concavity = queryGetCornerConcavity(pathId, source, target, perpOffset);

    // Skip distance in graph units, proportional to on-screen font size
    // For fixed mode: use pixelToGraph so gap stays constant regardless of zoom
    // For scaled mode: use the same conversion as text width
    `.concat(g?"float skipDistGraph = STEP_INNER_CORNER_SKIP_FACTOR * baseFontSize * u_zoomSizeRatio * u_correctionRatio / u_sizeRatio;":"float skipDistGraph = STEP_INNER_CORNER_SKIP_FACTOR * baseFontSize * pixelToGraph;",`

    // Corner t values for detecting crossings during traversal
    float corner1T = cornerTs.x;
    float corner2T = cornerTs.y;
    bool corner1IsConcave = concavity.x > 0.5;
    bool corner2IsConcave = concavity.y > 0.5;`):"",`

    // Target distance along offset path from center
    float targetOffsetDist = abs(charCenterOffset);

    // Handle center character (charCenterOffset ≈ 0) - no search needed
    if (targetOffsetDist < 0.0001) {
      charT = centerT;
    } else {
      vec2 centerPos = queryPathPosition(pathId, centerT, source, target);
      vec2 centerNormal = queryPathNormal(pathId, centerT, source, target);
      vec2 offsetCenter = centerPos + centerNormal * perpOffset;

      float searchDir = charCenterOffset > 0.0 ? 1.0 : -1.0;

      // Search bounds (t values for body start and end)
      float tBodyStart = queryPathTAtDistance(pathId, bodyStartDist, source, target);
      float tBodyEnd = queryPathTAtDistance(pathId, bodyEndDist, source, target);

      // Walk along offset path to find character position
      float accumDist = 0.0;
      vec2 prevOffsetPos = offsetCenter;
      float prevT = centerT;
      float foundT = centerT;

      // Search range depends on direction
      float tSearchEnd = searchDir > 0.0 ? tBodyEnd : tBodyStart;

      `).concat(h?`// Track which concave corners we've crossed to add skip distance
      bool crossedCorner1 = false;
      bool crossedCorner2 = false;
      float effectiveTargetDist = targetOffsetDist;`:"",`

      const int STEPS = 32;
      for (int i = 1; i <= STEPS; i++) {
        // Step along centerline t, from center toward target
        float stepT = centerT + searchDir * float(i) * abs(tSearchEnd - centerT) / float(STEPS);

        `).concat(h?`// Check for concave corner crossings and add skip distance
        // Corner 1 crossing check
        if (corner1IsConcave && !crossedCorner1) {
          bool crossingCorner1 = (searchDir > 0.0)
            ? (prevT < corner1T && stepT >= corner1T)
            : (prevT > corner1T && stepT <= corner1T);
          if (crossingCorner1) {
            crossedCorner1 = true;
            effectiveTargetDist += skipDistGraph;
          }
        }

        // Corner 2 crossing check
        if (corner2IsConcave && !crossedCorner2) {
          bool crossingCorner2 = (searchDir > 0.0)
            ? (prevT < corner2T && stepT >= corner2T)
            : (prevT > corner2T && stepT <= corner2T);
          if (crossingCorner2) {
            crossedCorner2 = true;
            effectiveTargetDist += skipDistGraph;
          }
        }`:"",`

        // Compute offset position at this t
        vec2 stepPos = queryPathPosition(pathId, stepT, source, target);
        vec2 stepNormal = queryPathNormal(pathId, stepT, source, target);
        vec2 offsetPos = stepPos + stepNormal * perpOffset;

        // Distance along offset path
        float segDist = length(offsetPos - prevOffsetPos);

        `).concat(h?`if (accumDist + segDist >= effectiveTargetDist) {
          // Interpolate within segment to find exact t
          float remaining = effectiveTargetDist - accumDist;
          float segT = remaining / max(segDist, 0.0001);
          foundT = mix(prevT, stepT, segT);
          break;
        }`:`if (accumDist + segDist >= targetOffsetDist) {
          // Interpolate within segment to find exact t
          float remaining = targetOffsetDist - accumDist;
          float segT = remaining / max(segDist, 0.0001);
          foundT = mix(prevT, stepT, segT);
          break;
        }`,`

        accumDist += segDist;
        prevOffsetPos = offsetPos;
        prevT = stepT;
        // Update foundT to last valid position in case loop exhausts without finding target
        foundT = stepT;
      }

      charT = foundT;
    }
  }

  // Get position and tangent at final character position
  vec2 pathPos = queryPathPosition(pathId, charT, source, target);
  vec2 tangent = queryPathTangent(pathId, charT, source, target);

  // Compute perpendicular direction (90 degrees from tangent)
  vec2 perpDir = vec2(-tangent.y, tangent.x);

  // Apply perpendicular offset to path position
  vec2 offsetPathPos = pathPos + perpDir * perpOffset;

  // -------------------------------------------------------------------------
  // Step 8: Build character quad
  // -------------------------------------------------------------------------
  // Character size in screen pixels
  vec2 charSizePixels = charSize * fontScale;

  // Character offset from origin to the atlas region's top-left corner.
  // bearingX/bearingY already include the SDF buffer.
  vec2 charOffsetPixels = charOffset * fontScale;

  // The character's local X offset from pathPos (which is at character center)
  float charLocalX = -charAdvance * 0.5 * fontScale;

  // Build quad position:
  // - Start at character origin (charLocalX on X axis, 0 on Y axis = baseline)
  // - Add bearing offset to get to atlas region corner
  // - Add quad corner * size to get vertex position
  vec2 quadPos;
  quadPos.x = charLocalX + charOffsetPixels.x + a_quadCorner.x * charSizePixels.x;
  // charOffset.y = -bearingY (negated), so -charOffsetPixels.y = bearingY * fontScale
  // (distance from baseline to atlas region top, positive = upward)
  // Quad corner (0,0) = bottom-left, (1,1) = top-right
  quadPos.y = -charOffsetPixels.y - charSizePixels.y * (1.0 - a_quadCorner.y);

  // Center vertically on the path by offsetting by half the visual text height
  // VERTICAL_CENTER_RATIO is the distance from baseline to visual center as a ratio of atlas font size
  float verticalCenterOffset = VERTICAL_CENTER_RATIO * ATLAS_FONT_SIZE * fontScale;
  quadPos.y -= verticalCenterOffset;

  // -------------------------------------------------------------------------
  // Step 9: Rotate quad to align with tangent
  // -------------------------------------------------------------------------
  // Rotation matrix from the reading direction
  // readingDir = (cos(angle), sin(angle)), so we can build rotation directly
  vec2 readingDir = tangent * readingSign;
  mat2 rotation = mat2(readingDir.x, readingDir.y, -readingDir.y, readingDir.x);

  // Convert pixel offset to WebGL units for rotation
  `).concat(g?"vec2 quadPosWebGL = quadPos * u_correctionRatio / u_sizeRatio; // Scaled mode":"vec2 quadPosWebGL = quadPos * pixelToGraph; // Fixed mode: use pixelToGraph for zoom-independent size",`

  // Rotate around character center on path
  vec2 rotatedOffset = rotation * quadPosWebGL;

  // Final position in graph space (using offset path position for above/below modes)
  vec2 worldPos = offsetPathPos + rotatedOffset;

  // -------------------------------------------------------------------------
  // Step 10: Transform to clip space
  // -------------------------------------------------------------------------
  vec3 clipPos = u_matrix * vec3(worldPos, 1.0);
  gl_Position = vec4(clipPos.xy, 0.0, 1.0);

  // -------------------------------------------------------------------------
  // Step 11: Texture coordinates
  // -------------------------------------------------------------------------
  // Flip Y for texture coordinates (texture Y goes down, quad Y goes up)
  vec2 texCorner = vec2(a_quadCorner.x, 1.0 - a_quadCorner.y);
  v_texCoord = (a_texCoords.xy + texCorner * a_texCoords.zw) / u_atlasSize;

  // -------------------------------------------------------------------------
  // Step 12: Pass color, border color, and alpha modifier
  // -------------------------------------------------------------------------
  v_color = a_color;
  v_color.a *= bias;
`).concat(t?`  v_borderColor = a_borderColor;
  v_borderColor.a *= bias;
  v_positionMode = positionMode;`:"",`
  v_alphaModifier = alphaModifier;

  // -------------------------------------------------------------------------
  // Step 13: Compute edge fade for soft truncation
  // -------------------------------------------------------------------------
  // Convert fade width from pixels to WebGL units
  `).concat(g?"float fadeWidthWebGL = FADE_WIDTH_PIXELS * u_correctionRatio / u_sizeRatio;":"float fadeWidthWebGL = FADE_WIDTH_PIXELS * pixelToGraph;",`

  // Compute the arc position of THIS VERTEX (not just character center)
  // The quad extends from charCenter - advance/2 to charCenter + advance/2
  // a_quadCorner.x is 0 for left edge, 1 for right edge
  float vertexLocalOffset = readingSign * (a_quadCorner.x - 0.5) * charAdvanceWebGL;
  float vertexArcOffset = charCenterOffset + vertexLocalOffset;

  // Compute distance from body edges (positive = inside body, negative = outside)
  float halfBody = bodyLength * 0.5;
  float distFromStart = vertexArcOffset + halfBody;  // Distance from body start edge
  float distFromEnd = halfBody - vertexArcOffset;    // Distance from body end edge
  float distFromEdge = min(distFromStart, distFromEnd);

  // Compute fade: 0 = fully visible (deep inside body), 1 = fully faded (at body edge)
  // Fade goes from 0 (at 2*fadeWidth inside) to 1 (at body edge)
  // This ensures text is fully transparent before reaching extremities
  v_edgeFade = 1.0 - smoothstep(0.0, fadeWidthWebGL * 2.0, distFromEdge);
}
`);return v}function Qh(){var a=arguments.length>0&&arguments[0]!==void 0?arguments[0]:{},n=a.hasBorder,e=n===void 0?!1:n,t=`#version 300 es
precision highp float;

in vec2 v_texCoord;
in vec4 v_color;
`.concat(e?"in vec4 v_borderColor;":"",`
in float v_edgeFade;  // 0 = fully visible, 1 = fully faded
in float v_alphaModifier;  // 0-1 based on label visibility ratio
in float v_fontScale;  // Ratio of rendered font size to atlas font size
`).concat(e?"in float v_positionMode;  // Position mode (0=over, 1=above, 2=below, 3=auto)":"",`

uniform sampler2D u_atlas;
uniform float u_gamma;
uniform float u_sdfBuffer;
uniform float u_pixelRatio;
`).concat(e?"uniform float u_borderWidth;  // Border width in SDF units (normalized)":"",`

// Fragment output (single target - picking handled via separate pass)
out vec4 fragColor;

void main() {
  #ifdef PICKING_MODE
    // Edge labels are not pickable - discard all fragments in picking mode
    fragColor = vec4(0.0);
    discard;
  #else
  // SDF stores normalized distance: 0.5 = on edge, >0.5 = inside glyph
  float sdfValue = texture(u_atlas, v_texCoord).a;

  // Edge threshold accounting for SDF buffer padding
  float edge = 1.0 - u_sdfBuffer;

  // Scale gamma inversely with font scale so small labels get a wider AA band
  // (smoother) and large labels get a tighter band (sharper).
  float aaWidth = u_gamma / (u_pixelRatio * v_fontScale);

  // Apply edge fade for soft truncation at body boundaries
  // Also apply visibility-based alpha modifier for short edge labels
  float edgeAlpha = (1.0 - v_edgeFade) * v_alphaModifier;

`).concat(e?`  // Fill alpha: fully opaque inside the glyph
  float fillAlpha = smoothstep(edge - aaWidth, edge + aaWidth, sdfValue);

  // Only apply border for "over" position mode (v_positionMode == 0.0)
  // Labels positioned above/below/auto don't overlap the edge line and don't need borders
  if (v_positionMode < 0.5) {
    // Border rendering: compute alpha for both fill and border regions
    // Border extends from (edge - borderWidth) to edge
    float borderEdge = edge - u_borderWidth;

    // Border alpha: opaque in the border region (between borderEdge and edge)
    float borderAlpha = smoothstep(borderEdge - aaWidth, borderEdge + aaWidth, sdfValue);

    // Composite: fill on top of border
    // Border is visible where borderAlpha > 0 but fillAlpha < 1
    vec3 borderColorPremult = v_borderColor.rgb * v_borderColor.a * borderAlpha * edgeAlpha;
    vec3 fillColorPremult = v_color.rgb * v_color.a * fillAlpha * edgeAlpha;

    // Blend fill over border (fill replaces border where fill is opaque)
    float finalBorderAlpha = borderAlpha * (1.0 - fillAlpha);
    vec3 finalColor = fillColorPremult + v_borderColor.rgb * v_borderColor.a * finalBorderAlpha * edgeAlpha;
    float finalAlpha = (v_color.a * fillAlpha + v_borderColor.a * finalBorderAlpha) * edgeAlpha;

    fragColor = vec4(finalColor, finalAlpha);
  } else {
    // No border for above/below/auto positions - simple text rendering
    float finalAlpha = v_color.a * fillAlpha * edgeAlpha;
    fragColor = vec4(v_color.rgb * finalAlpha, finalAlpha);
  }`:`  // Smooth transition from transparent to opaque at glyph edge
  float alpha = smoothstep(edge - aaWidth, edge + aaWidth, sdfValue);

  // Premultiplied alpha output
  float finalAlpha = v_color.a * alpha * edgeAlpha;
  fragColor = vec4(v_color.rgb * finalAlpha, finalAlpha);`,`
  #endif
}
`);return t}function Jh(a){var n=arguments.length>1&&arguments[1]!==void 0?arguments[1]:!1,e=arguments.length>2&&arguments[2]!==void 0?arguments[2]:"fixed",t=["u_matrix","u_sizeRatio","u_correctionRatio","u_pixelRatio","u_cameraAngle","u_sdfBufferPixels","u_resolution","u_atlasSize","u_atlas","u_gamma","u_sdfBuffer","u_nodeDataTexture","u_nodeDataTextureWidth","u_edgeDataTexture","u_edgeDataTextureWidth","u_edgeFrameTexture","u_edgeFrameTextureWidth","u_edgeAttributeTexture","u_edgeAttributeTextureWidth","u_edgeAttributeTexelsPerEdge"];e==="scaled"&&t.push("u_zoomSizeRatio"),n&&t.push("u_borderWidth");var r=O(a),i;try{for(r.s();!(i=r.n()).done;){var o=i.value,s=O(o.uniforms),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;t.includes(d.name)||t.push(d.name)}}catch(u){s.e(u)}finally{s.f()}}}catch(u){r.e(u)}finally{r.f()}return t}function ef(a){var n=a.hasBorder,e=n===void 0?!1:n,t=a.fontSizeMode,r=t===void 0?"fixed":t;return{vertexShader:Zh(a),fragmentShader:Qh({hasBorder:e}),uniforms:Jh(a.paths,e,r)}}var tf=new Map;function nf(a){switch(a){case"over":return 0;case"above":return 1;case"below":return 2;case"auto":return 3;default:return 0}}function af(a,n,e,t){var r=t.color,i=t.margin,o=t.textBorder,s=Ms(t),l=s.paths,d=s.fontSizeMode,u=s.minVisibilityThreshold,f=s.fullVisibilityThreshold,g=s.keepUpright,h=!!o,p=ef({paths:l,hasBorder:h,fontSizeMode:d,minVisibilityThreshold:u,fullVisibilityThreshold:f,keepUpright:g}),y=(function(m){function v(b,_,x){var T;J(this,v),T=ce(this,v,[b,_,x]),w(T,"atlasTexture",null),w(T,"atlasNeedsUpdate",!1),w(T,"refreshTimeout",null),w(T,"labelGlyphCache",new Map),w(T,"edgeAttributeTexture",null);var S=$e();if(T.attributeLayout=Oe([].concat(X(l),[S])),T.attrDescriptors=Ea([].concat(X(l),[S]),T.attributeLayout),T.edgeAttributeTexture=new Sa(b,T.attributeLayout),T.packedAttributeData=new Float32Array(T.attributeLayout.floatsPerItem),T.atlasManager=new bt,T.gamma=.025,T.sdfBuffer=Ve.cutoff,T.atlasTexture=b.createTexture(),!T.atlasTexture)throw new Error("EdgeLabelProgram: failed to create atlas texture");b.bindTexture(b.TEXTURE_2D,T.atlasTexture),b.texParameteri(b.TEXTURE_2D,b.TEXTURE_WRAP_S,b.CLAMP_TO_EDGE),b.texParameteri(b.TEXTURE_2D,b.TEXTURE_WRAP_T,b.CLAMP_TO_EDGE),b.texParameteri(b.TEXTURE_2D,b.TEXTURE_MIN_FILTER,b.LINEAR),b.texParameteri(b.TEXTURE_2D,b.TEXTURE_MAG_FILTER,b.LINEAR),b.bindTexture(b.TEXTURE_2D,null),T.atlasManager.on(bt.ATLAS_UPDATED_EVENT,function(){T.atlasNeedsUpdate=!0,T.refreshTimeout!==null&&clearTimeout(T.refreshTimeout),T.refreshTimeout=setTimeout(function(){T.refreshTimeout=null,T.renderer.refresh()},0)});var A={family:"sans-serif",weight:"normal",style:"normal"};return T.defaultFontKey=T.atlasManager.registerFont(A),T}return he(v,m),ee(v,[{key:"getDefinition",value:function(){var _=WebGL2RenderingContext,x=_.FLOAT,T=_.UNSIGNED_BYTE,S=_.TRIANGLE_STRIP,A=new Set,E=[],k=O(l),D;try{for(k.s();!(D=k.n()).done;){var C=D.value,R=O(C.attributes),F;try{for(R.s();!(F=R.n()).done;){var L=F.value,M=L.name.startsWith("a_")?L.name:"a_".concat(L.name);A.has(M)||(A.add(M),E.push({name:M,size:L.size,type:L.type}))}}catch(G){R.e(G)}finally{R.f()}}}catch(G){k.e(G)}finally{k.f()}return{VERTICES:4,VERTEX_SHADER_SOURCE:p.vertexShader,FRAGMENT_SHADER_SOURCE:p.fragmentShader,METHOD:S,UNIFORMS:p.uniforms,ATTRIBUTES:[{name:"a_edgeIndex",size:1,type:x},{name:"a_edgeAttrIndex",size:1,type:x},{name:"a_baseFontSize",size:1,type:x},{name:"a_charMetrics",size:4,type:x},{name:"a_charDims",size:4,type:x},{name:"a_texCoords",size:4,type:x},{name:"a_labelParams",size:2,type:x},{name:"a_color",size:4,type:T,normalized:!0}].concat(X(h?[{name:"a_borderColor",size:4,type:T,normalized:!0}]:[]),X(E.filter(function(G){return!["a_curvature","curvature"].includes(G.name)}))),CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:x}],CONSTANT_DATA:[[0,0],[1,0],[0,1],[1,1]]}}},{key:"prepareLabelGlyphs",value:function(_,x){if(x.hidden||!x.text){this.labelGlyphCache.delete(_);return}var T=x.text,S=x.fontKey||this.defaultFontKey;this.atlasManager.ensureGlyphs(T,S);var A=[],E=[],k=0,D=O(T),C;try{for(D.s();!(C=D.n()).done;){var R=C.value,F=R.codePointAt(0);if(F===void 0){A.push(void 0),E.push(k);continue}var L=this.atlasManager.getGlyph(F,S);A.push(L),E.push(k),L&&(k+=L.advance)}}catch(M){D.e(M)}finally{D.f()}this.labelGlyphCache.set(_,{glyphs:A,xOffsets:E,totalWidth:k})}},{key:"processCharacter",value:function(_,x,T,S){var A,E,k,D=this.floats,C=this.STRIDE,R=_*C,F=this.labelGlyphCache.get(x.parentKey);if(!F||!F.glyphs[S]){for(var L=0;L<C;L++)D[R+L]=0;return}var M=F.glyphs[S],G=F.xOffsets[S],N=v.labelColor,I=N&&te(N)==="object"&&"color"in N&&N.color?N.color:x.color,P=Ge(I),z=R;D[z++]=x.edgeIndex,D[z++]=(A=(E=this.edgeAttributeTexture)===null||E===void 0?void 0:E.getIndex(x.parentKey))!==null&&A!==void 0?A:0,D[z++]=x.size,D[z++]=G,D[z++]=M.advance,D[z++]=F.totalWidth,D[z++]=nf(x.position),D[z++]=M.atlasWidth,D[z++]=M.atlasHeight,D[z++]=M.bearingX,D[z++]=-M.bearingY,D[z++]=M.atlasX,D[z++]=M.atlasY,D[z++]=M.atlasWidth,D[z++]=M.atlasHeight;var V=(k=v.labelMargin)!==null&&k!==void 0?k:x.margin;if(D[z++]=V,D[z++]=0,D[z++]=P,h&&o){var j;typeof o.color=="string"?j=o.color:j=o.color.color||"#ffffff",D[z++]=Ge(j)}var Q=new Set,q=O(l),Y;try{for(q.s();!(Y=q.n()).done;){var Ae=Y.value,Ee=O(Ae.attributes),H;try{for(Ee.s();!(H=Ee.n()).done;){var ae=H.value,We=ae.name.startsWith("a_")?ae.name.slice(2):ae.name;if(We!=="curvature"&&!Q.has(We)){Q.add(We);for(var Ce=0;Ce<ae.size;Ce++)D[z++]=0}}}catch(xe){Ee.e(xe)}finally{Ee.f()}}}catch(xe){q.e(xe)}finally{q.f()}}},{key:"processEdgeLabel",value:function(_,x,T){if(this.prepareLabelGlyphs(_,T),this.edgeAttributeTexture&&!T.hidden&&T.text){this.edgeAttributeTexture.allocate(_);var S=this.packedAttributeData;wa(this.attrDescriptors,T.edgeAttributes,S,"",tf,0),this.edgeAttributeTexture.updateAllAttributes(_,S)}return ye(v,"processLabel",this,3)([_,x,T])}},{key:"updateAtlasTexture",value:function(){if(this.atlasNeedsUpdate){var _=this.normalProgram.gl,x=this.atlasManager.getTextures();if(x.length!==0){var T=x[0];_.bindTexture(_.TEXTURE_2D,this.atlasTexture),_.texImage2D(_.TEXTURE_2D,0,_.RGBA,T.width,T.height,0,_.RGBA,_.UNSIGNED_BYTE,T.data),_.bindTexture(_.TEXTURE_2D,null),this.atlasNeedsUpdate=!1}}}},{key:"setUniforms",value:function(_,x){var T=x.gl,S=x.uniformLocations,A=this.atlasManager.getTextures(),E=A.length>0?[A[0].width,A[0].height]:[1,1];if(T.uniformMatrix3fv(S.u_matrix,!1,_.matrix),T.uniform1f(S.u_sizeRatio,_.sizeRatio),T.uniform1f(S.u_correctionRatio,_.correctionRatio),T.uniform1f(S.u_pixelRatio,_.pixelRatio),T.uniform1f(S.u_cameraAngle,_.cameraAngle),T.uniform1f(S.u_sdfBufferPixels,Ve.buffer),T.uniform2f(S.u_resolution,_.width,_.height),T.uniform2f(S.u_atlasSize,E[0],E[1]),T.uniform1f(S.u_gamma,this.gamma),T.uniform1f(S.u_sdfBuffer,this.sdfBuffer),T.activeTexture(T.TEXTURE0),T.bindTexture(T.TEXTURE_2D,this.atlasTexture),T.uniform1i(S.u_atlas,0),S.u_nodeDataTexture!==void 0&&T.uniform1i(S.u_nodeDataTexture,_.nodeDataTextureUnit),S.u_nodeDataTextureWidth!==void 0&&T.uniform1i(S.u_nodeDataTextureWidth,_.nodeDataTextureWidth),S.u_edgeDataTexture!==void 0&&T.uniform1i(S.u_edgeDataTexture,_.edgeDataTextureUnit),S.u_edgeDataTextureWidth!==void 0&&T.uniform1i(S.u_edgeDataTextureWidth,_.edgeDataTextureWidth),S.u_edgeFrameTexture!==void 0&&T.uniform1i(S.u_edgeFrameTexture,_.edgeFrameTextureUnit),S.u_edgeFrameTextureWidth!==void 0&&T.uniform1i(S.u_edgeFrameTextureWidth,_.edgeFrameTextureWidth),h&&o&&S.u_borderWidth!==void 0){var k=o.width/Ve.buffer*this.sdfBuffer;T.uniform1f(S.u_borderWidth,k)}if(this.edgeAttributeTexture&&S.u_edgeAttributeTexture!==void 0&&(this.edgeAttributeTexture.bind(st),T.uniform1i(S.u_edgeAttributeTexture,st),T.uniform1i(S.u_edgeAttributeTextureWidth,this.edgeAttributeTexture.getTextureWidth()),T.uniform1i(S.u_edgeAttributeTexelsPerEdge,this.edgeAttributeTexture.getTexelsPerItem())),d==="scaled"&&S.u_zoomSizeRatio!==void 0){var D=this.renderer.getSetting("zoomToSizeRatioFunction"),C=1/D(_.zoomRatio);T.uniform1f(S.u_zoomSizeRatio,C)}}},{key:"renderProgram",value:function(_,x){this.updateAtlasTexture(),this.atlasManager.hasPendingGlyphs()&&(this.atlasManager.flush(),this.updateAtlasTexture()),this.edgeAttributeTexture&&this.edgeAttributeTexture.upload(),ye(v,"renderProgram",this,3)([_,x])}},{key:"registerFont",value:function(_){var x=arguments.length>1&&arguments[1]!==void 0?arguments[1]:"normal",T=arguments.length>2&&arguments[2]!==void 0?arguments[2]:"normal";return this.atlasManager.registerFont({family:_,weight:x,style:T})}},{key:"getAtlasManager",value:function(){return this.atlasManager}},{key:"ensureGlyphsReady",value:function(_,x){var T=x||this.defaultFontKey,S=O(_),A;try{for(S.s();!(A=S.n()).done;){var E=A.value;this.atlasManager.ensureGlyphs(E,T)}}catch(k){S.e(k)}finally{S.f()}this.atlasManager.flush()}},{key:"measureLabelAtlasWidth",value:function(_,x){var T=x||this.defaultFontKey;this.atlasManager.ensureGlyphs(_,T),this.atlasManager.hasPendingGlyphs()&&this.atlasManager.flush();var S=0,A=O(_),E;try{for(A.s();!(E=A.n()).done;){var k=E.value,D=k.codePointAt(0);if(D!==void 0){var C=this.atlasManager.getGlyph(D,T);C&&(S+=C.advance)}}}catch(R){A.e(R)}finally{A.f()}return S}},{key:"measureLabel",value:function(_,x,T){var S=this.measureLabelAtlasWidth(_,T),A=x/Ve.fontSize;return{width:S*A,height:x,textHeight:x}}},{key:"kill",value:function(){var _=this.normalProgram.gl;this.refreshTimeout!==null&&(clearTimeout(this.refreshTimeout),this.refreshTimeout=null),this.atlasTexture&&(_.deleteTexture(this.atlasTexture),this.atlasTexture=null),this.edgeAttributeTexture&&(this.edgeAttributeTexture.kill(),this.edgeAttributeTexture=null),this.atlasManager.destroy(),this.labelGlyphCache.clear(),ye(v,"kill",this,3)([])}}])})(As);return w(y,"labelColor",r),w(y,"labelMargin",i),new y(a,n,e)}function rf(){var a=`
// No extremity - always returns positive (outside)
float extremity_none(vec2 uv, float lengthRatio, float widthRatio) {
  return 1.0;
}
`;return{name:"none",glsl:a,length:0,widthFactor:1,margin:0,uniforms:[],attributes:[]}}function Ns(a,n,e,t,r,i,o){var s,l,d=Cs(t),u=d.paths,f=d.layers,g=d.defaultHead,h=d.defaultTail,p=[rf()].concat(X(d.extremities)),y={},m={};u.forEach(function(R,F){return y[R.name]=F}),p.forEach(function(R,F){return m[R.name]=F});var v=(s=m[g])!==null&&s!==void 0?s:0,b=(l=m[h])!==null&&l!==void 0?l:0,_=null,x=Oe([].concat(X(u),X(f))),T=(function(R){function F(L,M,G){var N;J(this,F),_||(_=fs({paths:u,extremities:p,layers:f,antialias:r})),N=ce(this,F,[L,M,G]),w(N,"layerLifecycles",new Map),w(N,"needsShaderRegeneration",!1),w(N,"edgeAttributeTexture",null),w(N,"layout",x),w(N,"attrDescriptors",[]),w(N,"lifecycleIndexOffset",u.length),N._pickingBuffer=M,N.edgeAttributeTexture=new Sa(L,N.layout),N.packedAttributeData=new Float32Array(N.layout.floatsPerItem),f.forEach(function(P,z){if(P.lifecycle){var V={gl:L,renderer:{refresh:function(){return G.refresh()}},getUniformLocation:function(Q){return L.getUniformLocation(N.normalProgram.program,Q)},requestShaderRegeneration:function(){N.needsShaderRegeneration=!0},requestRefresh:function(){G.refresh()}};N.layerLifecycles.set(z,P.lifecycle(V))}}),N.layerLifecycles.forEach(function(P){var z;return(z=P.init)===null||z===void 0?void 0:z.call(P)});var I=new Map;return N.layerLifecycles.forEach(function(P,z){P.getAttributeData&&I.set(u.length+z,P)}),N.attrDescriptors=Ea([].concat(X(u),X(f)),N.layout,I),N}return he(F,R),ee(F,[{key:"getAttributeTexture",value:function(){return this.edgeAttributeTexture}},{key:"resolveEdgeIds",value:function(M,G,N){var I=M,P=0,z=v,V=b,j=G?I.selfLoopPath:N&&I.parallelPath?I.parallelPath:I.path;j&&y[j]!==void 0&&(P=y[j]),I.head&&I.head!=="none"&&m[I.head]!==void 0&&(z=m[I.head]),I.tail&&I.tail!=="none"&&m[I.tail]!==void 0&&(V=m[I.tail]);var Q=p[z],q=p[V];return{pathId:P,headId:z,tailId:V,headLengthRatio:Ue(Q.length)?0:Q.length,tailLengthRatio:Ue(q.length)?0:q.length}}},{key:"getDefinition",value:function(){var M=WebGL2RenderingContext,G=M.TRIANGLE_STRIP,N=G,I=_;return{VERTICES:I.verticesPerEdge,VERTEX_SHADER_SOURCE:I.vertexShader,FRAGMENT_SHADER_SOURCE:I.fragmentShader,METHOD:N,UNIFORMS:I.uniforms,ATTRIBUTES:I.attributes,CONSTANT_ATTRIBUTES:I.constantAttributes,CONSTANT_DATA:I.constantData}}},{key:"maybeRegenerateShaders",value:function(){var M=this;if(this.needsShaderRegeneration){this.needsShaderRegeneration=!1;var G=f.map(function(Q,q){var Y=M.layerLifecycles.get(q);return Y!=null&&Y.regenerate?Y.regenerate():Q});_=fs({paths:u,extremities:p,layers:G,antialias:this.renderer.getSetting("antialiasEdges")});var N=this.normalProgram.gl,I=this.normalProgram,P=I.program,z=I.buffer,V=I.vertexShader,j=I.fragmentShader;N.deleteProgram(P),N.deleteBuffer(z),N.deleteShader(V),N.deleteShader(j),this.normalProgram=this.getProgramInfo("normal",N,_.vertexShader,_.fragmentShader,this._pickingBuffer)}}},{key:"process",value:function(M,G,N,I,P,z){var V=G*this.STRIDE;if(P.visibility==="hidden"||N.visibility==="hidden"||I.visibility==="hidden"){for(var j=V+this.STRIDE;V<j;V++)this.floats[V]=0;this.floats[G*this.STRIDE]=Ss;return}this.processVisibleItem(It(M),V,N,I,P,z)}},{key:"processVisibleItem",value:function(M,G,N,I,P,z){var V,j=this.floats,Q=this.ints;j[G++]=z,j[G++]=Ge(P.color),Q[G++]=M,j[G++]=(V=P.opacity)!==null&&V!==void 0?V:1;var q=this.packedAttributeData;wa(this.attrDescriptors,P,q,P.color,this.layerLifecycles,this.lifecycleIndexOffset),this.edgeAttributeTexture.updateAllAttributesAtRow(z,q)}},{key:"setUniforms",value:function(M,G){var N=this,I=G.gl,P=G.uniformLocations;P.u_matrix&&I.uniformMatrix3fv(P.u_matrix,!1,M.matrix),P.u_sizeRatio&&I.uniform1f(P.u_sizeRatio,M.sizeRatio),P.u_correctionRatio&&I.uniform1f(P.u_correctionRatio,M.correctionRatio),P.u_zoomRatio&&I.uniform1f(P.u_zoomRatio,M.zoomRatio),P.u_pixelRatio&&I.uniform1f(P.u_pixelRatio,M.pixelRatio),P.u_cameraAngle&&I.uniform1f(P.u_cameraAngle,M.cameraAngle),P.u_feather&&I.uniform1f(P.u_feather,M.antiAliasingFeather),P.u_minEdgeThickness&&I.uniform1f(P.u_minEdgeThickness,M.minEdgeThickness),P.u_pickingPadding&&I.uniform1f(P.u_pickingPadding,M.edgePickingPadding),P.u_nodeDataTexture&&I.uniform1i(P.u_nodeDataTexture,M.nodeDataTextureUnit),P.u_nodeDataTextureWidth&&I.uniform1i(P.u_nodeDataTextureWidth,M.nodeDataTextureWidth),P.u_edgeDataTexture&&I.uniform1i(P.u_edgeDataTexture,M.edgeDataTextureUnit),P.u_edgeDataTextureWidth&&I.uniform1i(P.u_edgeDataTextureWidth,M.edgeDataTextureWidth),P.u_edgeFrameTexture&&I.uniform1i(P.u_edgeFrameTexture,M.edgeFrameTextureUnit),P.u_edgeFrameTextureWidth&&I.uniform1i(P.u_edgeFrameTextureWidth,M.edgeFrameTextureWidth),this.edgeAttributeTexture&&this.layout.floatsPerItem>0&&(this.edgeAttributeTexture.bind(st),P.u_edgeAttributeTexture&&I.uniform1i(P.u_edgeAttributeTexture,st),P.u_edgeAttributeTextureWidth&&I.uniform1i(P.u_edgeAttributeTextureWidth,this.edgeAttributeTexture.getTextureWidth()),P.u_edgeAttributeTexelsPerEdge&&I.uniform1i(P.u_edgeAttributeTexelsPerEdge,this.edgeAttributeTexture.getTexelsPerItem()));var z=new Set;u.forEach(function(V){V.uniforms.forEach(function(j){z.has(j.name)||(z.add(j.name),N.setTypedUniform(j,G))})}),p.forEach(function(V){V.uniforms.forEach(function(j){z.has(j.name)||(z.add(j.name),N.setTypedUniform(j,G))})}),f.forEach(function(V){V.uniforms.forEach(function(j){z.has(j.name)||(z.add(j.name),N.setTypedUniform(j,G))})})}},{key:"render",value:function(M,G,N){this.maybeRegenerateShaders(),ye(F,"render",this,3)([M,G,N])}},{key:"renderProgram",value:function(M,G){this.layerLifecycles.forEach(function(N){var I;return(I=N.beforeRender)===null||I===void 0?void 0:I.call(N)}),ye(F,"renderProgram",this,3)([M,G])}},{key:"uploadAttributeTexture",value:function(){this.edgeAttributeTexture&&this.layout.floatsPerItem>0&&this.edgeAttributeTexture.upload()}},{key:"kill",value:function(){this.layerLifecycles.forEach(function(M){var G;return(G=M.kill)===null||G===void 0?void 0:G.call(M)}),this.edgeAttributeTexture&&(this.edgeAttributeTexture.kill(),this.edgeAttributeTexture=null),ye(F,"kill",this,3)([])}}])})(_t),S=p[v],A=p[b],E=W({paths:u,headLengthRatio:Ue(S.length)?0:S.length,tailLengthRatio:Ue(A.length)?0:A.length},t.label),k=Ms(E),D=function(){return{labelProgram:af(a,null,e,E),labelBackgroundProgram:qh(a,n,e,{shaderConfig:k})}},C=new Oh(a,{paths:u,extremities:p,layers:f,nodeShapes:i,nodeLayers:o});return{edgeProgram:new T(a,null,e),createLabelPrograms:D,framePass:C}}function of(a){return te(a)==="object"&&"uniforms"in a&&Array.isArray(a.uniforms)}function sf(a){return te(a)==="object"&&"uniforms"in a&&"attributes"in a&&"glsl"in a}function lf(a){return te(a)==="object"&&"uniforms"in a&&"attributes"in a&&"segments"in a}function df(a){return te(a)==="object"&&"uniforms"in a&&"attributes"in a&&"length"in a}function uf(a){return te(a)==="object"&&"uniforms"in a&&"attributes"in a&&"glsl"in a}function cf(a){return te(a)==="object"&&"glsl"in a&&"name"in a&&!("uniforms"in a)}function hf(a){return te(a)==="object"&&"glsl"in a&&"name"in a&&!("uniforms"in a)}function ff(a){return te(a)==="object"&&"glsl"in a&&"name"in a&&!("uniforms"in a)}function gf(a){if(of(a))return a;if(cf(a))return{name:a.name,glsl:a.glsl,inradiusFactor:a.inradiusFactor,uniforms:[]};throw new Error("Invalid node shape specification: ".concat(JSON.stringify(a)))}function pf(a){if(sf(a))return a;if(zo(a))return{name:a.name,glsl:a.glsl,uniforms:[],attributes:[]};throw new Error("Invalid node layer specification: ".concat(JSON.stringify(a)))}function vf(a){if(lf(a))return a;if(hf(a))return{name:a.name,glsl:a.glsl,segments:a.segments,uniforms:[],attributes:[]};throw new Error("Invalid edge path specification: ".concat(JSON.stringify(a)))}function mf(a){if(uf(a))return a;if(Oo(a))return{name:a.name,glsl:a.glsl,uniforms:[],attributes:[]};throw new Error("Invalid edge layer specification: ".concat(JSON.stringify(a)))}function bf(a){if(df(a))return a;if(ff(a))return{name:a.name,glsl:a.glsl,length:a.length,widthFactor:a.widthFactor,margin:0,uniforms:[],attributes:[]};throw new Error("Invalid edge extremity specification: ".concat(JSON.stringify(a)))}function Gs(a){var n,e,t=(n=a?.shapes)!==null&&n!==void 0?n:fn.shapes,r=(e=a?.layers)!==null&&e!==void 0?e:fn.layers,i=t.map(gf),o=r.map(pf);if(i.length===0)throw new Error("At least one node shape must be specified.");if(o.length===0)throw new Error("At least one node layer must be specified.");return{shapes:i,layers:o}}function yf(a){var n,e,t,r=(n=a?.paths)!==null&&n!==void 0?n:Mt.paths,i=(e=a?.extremities)!==null&&e!==void 0?e:Mt.extremities,o=(t=a?.layers)!==null&&t!==void 0?t:Mt.layers,s=r.map(vf),l=i.map(bf).filter(function(u){return u!==null}),d=o.map(mf);if(s.length===0)throw new Error("At least one edge path must be specified.");if(d.length===0)throw new Error("At least one edge layer must be specified.");return{paths:s,extremities:l,layers:d}}function zs(a,n){var e={},t=O(a),r;try{for(t.s();!(r=t.n()).done;){var i=r.value;i.variables&&Object.assign(e,i.variables)}}catch(o){t.e(o)}finally{t.f()}return Object.assign(e,n||{}),e}function Os(a,n,e,t,r){var i=Gs(t),o=i.shapes,s=i.layers,l=zs(o,t?.variables),d=Ds(a,n,e,{shapes:o,layers:s,label:t?.label,backdrop:t?.backdrop,labelAttachments:t?.labelAttachments},r);return W(W({},d),{},{variables:l})}function Ws(a,n,e,t,r,i){var o=yf(t),s=o.paths,l=o.extremities,d=o.layers,u=Gs(i),f=u.shapes,g=u.layers,h=zs(s,t?.variables),p=Ns(a,n,e,{paths:s,extremities:l,layers:d,defaultHead:t?.defaultHead,defaultTail:t?.defaultTail,label:t?.label},r,f,g);return W(W({},p),{},{variables:h,paths:s})}var _f=2;function Bs(a,n,e){var t=arguments.length>3&&arguments[3]!==void 0?arguments[3]:_f,r=n.canvas,i=r.width,o=r.height,s=e.x,l=e.y,d=e.rowHeight,u=e.maxRowWidth,f={},g=[],h=O(a),p;try{for(h.s();!(p=h.n()).done;){var y=p.value,m=y.width+t,v=y.height+t;if(m>i||v>o||s+m>i&&l+d+v>o){g.push(y);continue}s+m>i&&(u=Math.max(u,s),s=0,l+=d,d=v),y.draw(n,s,l),f[y.key]={x:s,y:l,width:y.width,height:y.height},s+=m,d=Math.max(d,v)}}catch(b){h.e(b)}finally{h.f()}return u=Math.max(u,s),{atlas:f,cursor:{x:s,y:l,rowHeight:d,maxRowWidth:u},remaining:g}}function De(a,n,e,t){var r=Object.defineProperty;try{r({},"",{})}catch{r=0}De=function(i,o,s,l){function d(u,f){De(i,u,function(g){return this._invoke(u,f,g)})}o?r?r(i,o,{value:s,enumerable:!l,configurable:!l,writable:!l}):i[o]=s:(d("next",0),d("throw",1),d("return",2))},De(a,n,e,t)}function ke(){var a,n,e=typeof Symbol=="function"?Symbol:{},t=e.iterator||"@@iterator",r=e.toStringTag||"@@toStringTag";function i(h,p,y,m){var v=p&&p.prototype instanceof s?p:s,b=Object.create(v.prototype);return De(b,"_invoke",(function(_,x,T){var S,A,E,k=0,D=T||[],C=!1,R={p:0,n:0,v:a,a:F,f:F.bind(a,4),d:function(L,M){return S=L,A=0,E=a,R.n=M,o}};function F(L,M){for(A=L,E=M,n=0;!C&&k&&!G&&n<D.length;n++){var G,N=D[n],I=R.p,P=N[2];L>3?(G=P===M)&&(E=N[(A=N[4])?5:(A=3,3)],N[4]=N[5]=a):N[0]<=I&&((G=L<2&&I<N[1])?(A=0,R.v=M,R.n=N[1]):I<P&&(G=L<3||N[0]>M||M>P)&&(N[4]=L,N[5]=M,R.n=P,A=0))}if(G||L>1)return o;throw C=!0,M}return function(L,M,G){if(k>1)throw TypeError("Generator is already running");for(C&&M===1&&F(M,G),A=M,E=G;(n=A<2?a:E)||!C;){S||(A?A<3?(A>1&&(R.n=-1),F(A,E)):R.n=E:R.v=E);try{if(k=2,S){if(A||(L="next"),n=S[L]){if(!(n=n.call(S,E)))throw TypeError("iterator result is not an object");if(!n.done)return n;E=n.value,A<2&&(A=0)}else A===1&&(n=S.return)&&n.call(S),A<2&&(E=TypeError("The iterator does not provide a '"+L+"' method"),A=1);S=a}else if((n=(C=R.n<0)?E:_.call(x,R))!==o)break}catch(N){S=a,A=1,E=N}finally{k=1}}return{value:n,done:C}}})(h,y,m),!0),b}var o={};function s(){}function l(){}function d(){}n=Object.getPrototypeOf;var u=[][t]?n(n([][t]())):(De(n={},t,function(){return this}),n),f=d.prototype=s.prototype=Object.create(u);function g(h){return Object.setPrototypeOf?Object.setPrototypeOf(h,d):(h.__proto__=d,De(h,r,"GeneratorFunction")),h.prototype=Object.create(f),h}return l.prototype=d,De(f,"constructor",d),De(d,"constructor",l),l.displayName="GeneratorFunction",De(d,r,"GeneratorFunction"),De(f),De(f,r,"Generator"),De(f,t,function(){return this}),De(f,"toString",function(){return"[object Generator]"}),(ke=function(){return{w:i,m:g}})()}function Us(a,n,e,t,r,i,o){try{var s=a[i](o),l=s.value}catch(d){return void e(d)}s.done?n(l):Promise.resolve(l).then(t,r)}function Vt(a){return function(){var n=this,e=arguments;return new Promise(function(t,r){var i=a.apply(n,e);function o(l){Us(i,t,r,o,s,"next",l)}function s(l){Us(i,t,r,o,s,"throw",l)}o(void 0)})}}var Ra=new Map,Hs=!1;function xf(a){return new Promise(function(n,e){var t=new FileReader;t.onload=function(){return n(t.result)},t.onerror=e,t.readAsDataURL(a)})}function Tf(a){if(!Ra.has(a)){var n=fetch(a).then(function(e){return e.blob()}).then(xf).catch(function(){return Ra.delete(a),null});Ra.set(a,n)}return Ra.get(a)}function Sf(a){return $r.apply(this,arguments)}function $r(){return $r=Vt(ke().m(function a(n){var e,t,r;return ke().w(function(i){for(;;)switch(i.n){case 0:return e=document.createElement("div"),e.innerHTML=n,t=Array.from(e.querySelectorAll("img[src]")),r=t.filter(function(o){return!o.getAttribute("src").startsWith("data:")}),i.n=1,Promise.all(r.map((function(){var o=Vt(ke().m(function s(l){var d;return ke().w(function(u){for(;;)switch(u.n){case 0:return u.n=1,Tf(l.getAttribute("src"));case 1:d=u.v,d&&l.setAttribute("src",d);case 2:return u.a(2)}},s)}));return function(s){return o.apply(this,arguments)}})()));case 1:return i.a(2,e.innerHTML)}},a)})),$r.apply(this,arguments)}function $s(a){return Vr.apply(this,arguments)}function Vr(){return Vr=Vt(ke().m(function a(n){var e,t,r,i,o,s,l,d,u,f,g,h,p,y=arguments;return ke().w(function(m){for(;;)switch(m.n){case 0:if(e=y.length>1&&y[1]!==void 0?y[1]:1,t=n instanceof SVGElement?new XMLSerializer().serializeToString(n):n,r=new DOMParser,i=r.parseFromString(t,"image/svg+xml"),o=i.querySelector("svg"),o){m.n=1;break}return m.a(2,null);case 1:if(s=parseFloat(o.getAttribute("width")||""),l=parseFloat(o.getAttribute("height")||""),(!(s>0)||!(l>0))&&(d=o.getAttribute("viewBox"),d&&(u=d.trim().split(/[\s,]+/),s=parseFloat(u[2]),l=parseFloat(u[3]))),!(!(s>0)||!(l>0))){m.n=2;break}return console.warn("Sigma: SVG label attachment has no parseable dimensions — skipped."),m.a(2,null);case 2:return f=Math.ceil(s*e),g=Math.ceil(l*e),h=new Blob([t],{type:"image/svg+xml"}),p=URL.createObjectURL(h),m.a(2,new Promise(function(v){var b=new Image;b.onload=function(){var _=document.createElement("canvas");_.width=f,_.height=g,_.getContext("2d").drawImage(b,0,0,f,g),URL.revokeObjectURL(p);try{_.getContext("2d").getImageData(0,0,1,1)}catch(x){if(x instanceof DOMException&&x.name==="SecurityError"){Hs||(Hs=!0,console.warn('Sigma: A label attachment was skipped because the rendered canvas is tainted. SVG with <foreignObject> (used by the "html" attachment type) is blocked in Chromium and Safari. Use type: "canvas" with Canvas 2D rendering instead.')),v(null);return}throw x}v(_)},b.onerror=function(){URL.revokeObjectURL(p),v(null)},b.src=p}))}},a)})),Vr.apply(this,arguments)}function Ef(a,n){var e=document.createElement("div");e.style.cssText="position:fixed;left:-99999px;top:0;visibility:hidden;width:max-content;height:max-content",e.innerHTML=(n?"<style>".concat(n,"</style>"):"")+a,document.body.appendChild(e);var t=e.getBoundingClientRect(),r=t.width,i=t.height;return document.body.removeChild(e),{width:Math.ceil(r),height:Math.ceil(i)}}function wf(a,n,e,t){return jr.apply(this,arguments)}function jr(){return jr=Vt(ke().m(function a(n,e,t,r){var i,o,s,l,d,u,f,g,h=arguments;return ke().w(function(p){for(;;)switch(p.n){case 0:return i=h.length>4&&h[4]!==void 0?h[4]:1,o=n instanceof HTMLElement?n.outerHTML:n,p.n=1,Sf(o);case 1:return s=p.v,(t==null||r==null)&&(l=Ef(s,e),t=t??l.width,r=r??l.height),d=Math.ceil(t*i),u=Math.ceil(r*i),f=e?"<style>".concat(e,"</style>"):"",g='<svg xmlns="http://www.w3.org/2000/svg" '+'width="'.concat(d,'" height="').concat(u,'" viewBox="0 0 ').concat(t," ").concat(r,'">')+'<foreignObject width="'.concat(t,'" height="').concat(r,'">')+'<body xmlns="http://www.w3.org/1999/xhtml" style="margin:0;padding:0">'.concat(f).concat(s,"</body>")+"</foreignObject></svg>",p.a(2,$s(g,1))}},a)})),jr.apply(this,arguments)}function Af(a){return Xr.apply(this,arguments)}function Xr(){return Xr=Vt(ke().m(function a(n){var e,t=arguments,r;return ke().w(function(i){for(;;)switch(i.n){case 0:e=t.length>1&&t[1]!==void 0?t[1]:1,r=n.type,i.n=r==="canvas"?1:r==="svg"?2:r==="html"?3:4;break;case 1:return i.a(2,n.canvas);case 2:return i.a(2,$s(n.svg,e));case 3:return i.a(2,wf(n.html,n.css,n.width,n.height,e));case 4:return i.a(2)}},a)})),Xr.apply(this,arguments)}var $t=2048,Vs=(function(){function a(n,e,t){J(this,a),w(this,"cache",new Map),w(this,"pending",new Set),w(this,"atlas",{}),w(this,"glTexture",null),w(this,"dirty",!0),this.gl=n,this.renderers=e,this.scheduleRender=t,this.packCanvas=document.createElement("canvas"),this.packCanvas.width=$t,this.packCanvas.height=$t,this.packCtx=this.packCanvas.getContext("2d")}return ee(a,[{key:"renderAttachment",value:function(e,t,r){var i=this,o="".concat(e,":").concat(t);if(!(this.cache.has(o)||this.pending.has(o))){var s=this.renderers[t];if(s){var l=s(r);if(l){this.pending.add(o);var d=r.pixelRatio;Promise.resolve(l).then((function(){var u=Vt(ke().m(function f(g){var h;return ke().w(function(p){for(;;)switch(p.n){case 0:if(i.pending.has(o)){p.n=1;break}return p.a(2);case 1:if(i.pending.delete(o),g){p.n=2;break}return p.a(2);case 2:return p.n=3,Af(g,d);case 3:if(h=p.v,!(!h||h.width===0||h.height===0)){p.n=4;break}return p.a(2);case 4:i.cache.set(o,{image:h,width:h.width,height:h.height}),i.dirty=!0,i.scheduleRender();case 5:return p.a(2)}},f)}));return function(f){return u.apply(this,arguments)}})())}}}}},{key:"regenerateAtlas",value:function(){if(this.dirty){this.dirty=!1;var e=[];if(this.cache.forEach(function(d,u){e.push({key:u,width:d.width,height:d.height,draw:function(g,h,p){g.drawImage(d.image,h,p)}})}),e.length===0){this.atlas={},this.deleteGLTexture();return}var t={x:0,y:0,rowHeight:0,maxRowWidth:0};this.packCtx.clearRect(0,0,$t,$t);var r=Bs(e,this.packCtx,t),i=r.atlas,o=r.remaining;this.atlas=i,o.length>0&&console.warn("Sigma: ".concat(o.length," label attachment(s) could not fit in the ").concat($t,"x").concat($t," atlas and will not be rendered.")),this.deleteGLTexture();var s=this.gl,l=s.createTexture();s.activeTexture(s.TEXTURE0+xn),s.bindTexture(s.TEXTURE_2D,l),s.pixelStorei(s.UNPACK_PREMULTIPLY_ALPHA_WEBGL,!0),s.texImage2D(s.TEXTURE_2D,0,s.RGBA,s.RGBA,s.UNSIGNED_BYTE,this.packCanvas),s.pixelStorei(s.UNPACK_PREMULTIPLY_ALPHA_WEBGL,!1),s.texParameteri(s.TEXTURE_2D,s.TEXTURE_MIN_FILTER,s.LINEAR),s.texParameteri(s.TEXTURE_2D,s.TEXTURE_MAG_FILTER,s.LINEAR),s.texParameteri(s.TEXTURE_2D,s.TEXTURE_WRAP_S,s.CLAMP_TO_EDGE),s.texParameteri(s.TEXTURE_2D,s.TEXTURE_WRAP_T,s.CLAMP_TO_EDGE),this.glTexture=l}}},{key:"bindTexture",value:function(e){if(this.glTexture){var t=this.gl;t.activeTexture(t.TEXTURE0+e),t.bindTexture(t.TEXTURE_2D,this.glTexture)}}},{key:"getEntry",value:function(e,t){var r="".concat(e,":").concat(t);return this.atlas[r]||null}},{key:"invalidateNode",value:function(e){var t="".concat(e,":"),r=O(this.cache.keys()),i;try{for(r.s();!(i=r.n()).done;){var o=i.value;o.startsWith(t)&&(this.cache.delete(o),this.dirty=!0)}}catch(u){r.e(u)}finally{r.f()}var s=O(this.pending),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;d.startsWith(t)&&this.pending.delete(d)}}catch(u){s.e(u)}finally{s.f()}}},{key:"restore",value:function(){this.glTexture=null,this.dirty=!0}},{key:"clear",value:function(){this.cache.clear(),this.pending.clear(),this.atlas={},this.dirty=!0,this.deleteGLTexture()}},{key:"kill",value:function(){this.clear(),this.packCanvas=null,this.packCtx=null,this.gl=null}},{key:"deleteGLTexture",value:function(){this.glTexture&&(this.gl.deleteTexture(this.glTexture),this.glTexture=null)}}])})(),qr=(function(){function a(n){J(this,a),w(this,"buckets",new Map),w(this,"keyDepth",new Map);var e=O(n),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;this.buckets.set(r,new Set)}}catch(i){e.e(i)}finally{e.f()}}return ee(a,[{key:"has",value:function(e){return this.keyDepth.has(e)}},{key:"getBucket",value:function(e){return this.buckets.get(e)}},{key:"set",value:function(e,t){var r,i=this.keyDepth.get(e);if(i!==t){var o=this.buckets.get(t);if(!o)throw new Error('Sigma: "'.concat(t,'" is not a declared depth layer'));i!==void 0&&((r=this.buckets.get(i))===null||r===void 0||r.delete(e)),o.add(e),this.keyDepth.set(e,t)}}},{key:"remove",value:function(e){var t=this.keyDepth.get(e);t!==void 0&&(this.buckets.get(t).delete(e),this.keyDepth.delete(e))}},{key:"clearAll",value:function(){var e=O(this.buckets.values()),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;r.clear()}}catch(i){e.e(i)}finally{e.f()}this.keyDepth.clear()}},{key:"getSorted",value:function(e,t){var r=this.buckets.get(e);return!r||r.size===0?[]:X(r).sort(function(i,o){return t(i)-t(o)})}}])})(),js=(function(a){function n(e,t){return J(this,n),ce(this,n,[e,2,t])}return he(n,a),ee(n,[{key:"updateNode",value:function(t,r,i,o,s,l,d,u){var f=this.indexMap.get(t);if(f===void 0)throw new Error('Node "'.concat(t,'" not allocated in NodeDataTexture'));var g=rt(u),h=ne(g,4),p=h[0],y=h[1],m=h[2],v=h[3],b=f*2*4;this.data[b]=r,this.data[b+1]=i,this.data[b+2]=o,this.data[b+3]=s,this.data[b+4]=l,this.data[b+5]=d,this.data[b+6]=p*65536+y*256+m,this.data[b+7]=v/255,this.markDirty(f)}}])})(Ta),Rf=1024,Df=1.5,kf=4096,Kr=(function(){function a(n,e){var t;if(J(this,a),w(this,"texture",null),w(this,"framebuffer",null),!n.getExtension("EXT_color_buffer_float"))throw new Error("sigma: EXT_color_buffer_float is required for label/edge placement but is unavailable in this WebGL2 context.");this.gl=n,this.channels=e.channels,this.capacity=this.roundUpToPowerOfTwo((t=e.initialCapacity)!==null&&t!==void 0?t:Rf);var r=this.computeDimensions(this.capacity);this.textureWidth=r.width,this.textureHeight=r.height,this.create()}return ee(a,[{key:"roundUpToPowerOfTwo",value:function(e){return Math.pow(2,Math.ceil(Math.log2(Math.max(1,e))))}},{key:"computeDimensions",value:function(e){var t=Math.min(e,kf),r=Math.ceil(e/t);return{width:t,height:r}}},{key:"create",value:function(){var e=this.gl,t=this.channels===1?e.R32F:e.RGBA32F,r=this.channels===1?e.RED:e.RGBA;if(this.texture=e.createTexture(),e.activeTexture(e.TEXTURE0),e.bindTexture(e.TEXTURE_2D,this.texture),e.texImage2D(e.TEXTURE_2D,0,t,this.textureWidth,this.textureHeight,0,r,e.FLOAT,null),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MIN_FILTER,e.NEAREST),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MAG_FILTER,e.NEAREST),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_S,e.CLAMP_TO_EDGE),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_T,e.CLAMP_TO_EDGE),this.framebuffer=e.createFramebuffer(),e.bindFramebuffer(e.FRAMEBUFFER,this.framebuffer),e.framebufferTexture2D(e.FRAMEBUFFER,e.COLOR_ATTACHMENT0,e.TEXTURE_2D,this.texture,0),e.checkFramebufferStatus(e.FRAMEBUFFER)!==e.FRAMEBUFFER_COMPLETE)throw new Error("sigma: float framebuffer for frame-pass placement is incomplete.");e.bindFramebuffer(e.FRAMEBUFFER,null),e.bindTexture(e.TEXTURE_2D,null)}},{key:"ensureCapacity",value:function(e){if(!(e<=this.capacity)){var t=this.gl;this.capacity=this.roundUpToPowerOfTwo(Math.ceil(e*Df));var r=this.computeDimensions(this.capacity);this.textureWidth=r.width,this.textureHeight=r.height,this.texture&&t.deleteTexture(this.texture),this.framebuffer&&t.deleteFramebuffer(this.framebuffer),this.create()}}},{key:"bindAsRenderTarget",value:function(){var e=this.gl;e.bindFramebuffer(e.FRAMEBUFFER,this.framebuffer),e.viewport(0,0,this.textureWidth,this.textureHeight)}},{key:"bind",value:function(e){var t=this.gl;t.activeTexture(t.TEXTURE0+e),t.bindTexture(t.TEXTURE_2D,this.texture)}},{key:"getTexture",value:function(){return this.texture}},{key:"getTextureWidth",value:function(){return this.textureWidth}},{key:"getTextureHeight",value:function(){return this.textureHeight}},{key:"restore",value:function(){this.gl.getExtension("EXT_color_buffer_float"),this.create()}},{key:"kill",value:function(){var e=this.gl;this.texture&&(e.deleteTexture(this.texture),this.texture=null),this.framebuffer&&(e.deleteFramebuffer(this.framebuffer),this.framebuffer=null)}}])})(),Xs=(function(a){function n(e,t){return J(this,n),ce(this,n,[e,2,t])}return he(n,a),ee(n,[{key:"updateEdge",value:function(t,r,i,o,s,l){var d=arguments.length>6&&arguments[6]!==void 0?arguments[6]:0,u=arguments.length>7&&arguments[7]!==void 0?arguments[7]:0,f=arguments.length>8&&arguments[8]!==void 0?arguments[8]:0,g=this.indexMap.get(t);if(g===void 0)throw new Error('Edge "'.concat(t,'" not allocated in EdgeDataTexture'));var h=g*this.TEXELS_PER_ITEM*4;this.data[h+0]=r,this.data[h+1]=i,this.data[h+2]=o,this.data[h+3]=0,this.data[h+4]=s,this.data[h+5]=l,this.data[h+6]=d,this.data[h+7]=(u&15)<<4|f&15,this.markDirty(g)}}])})(Ta);var xv=ct(Rt()),Tv=ct(Dr());function Lf(a,n){if(a==null)return{};var e={};for(var t in a)if({}.hasOwnProperty.call(a,t)){if(n.indexOf(t)!==-1)continue;e[t]=a[t]}return e}function qs(a,n){if(a==null)return{};var e,t,r=Lf(a,n);if(Object.getOwnPropertySymbols){var i=Object.getOwnPropertySymbols(a);for(t=0;t<i.length;t++)e=i[t],n.indexOf(e)===-1&&{}.propertyIsEnumerable.call(a,e)&&(r[e]=a[e])}return r}var Cf=["factor"],Pf=["factor"],Ks=1.5,Yr={x:.5,y:.5,angle:0,ratio:1},Ys=(function(a){function n(){var e;J(this,n);for(var t=arguments.length,r=new Array(t),i=0;i<t;i++)r[i]=arguments[i];return e=ce(this,n,[].concat(r)),w(e,"minRatio",null),w(e,"maxRatio",null),w(e,"enabled",!0),w(e,"enabledZooming",!0),w(e,"enabledPanning",!0),w(e,"enabledRotation",!0),w(e,"constrainState",null),w(e,"state",W({},Yr)),w(e,"previousState",W({},Yr)),w(e,"nextFrame",null),w(e,"currentAnimationFrom",null),w(e,"currentAnimationTo",null),w(e,"animationCallback",null),e}return he(n,a),ee(n,[{key:"x",get:function(){return this.state.x}},{key:"y",get:function(){return this.state.y}},{key:"angle",get:function(){return this.state.angle}},{key:"ratio",get:function(){return this.state.ratio}},{key:"getState",value:function(){return W({},this.state)}},{key:"getPreviousState",value:function(){return W({},this.previousState)}},{key:"getBoundedRatio",value:function(t){var r=t;return typeof this.minRatio=="number"&&(r=Math.max(r,this.minRatio)),typeof this.maxRatio=="number"&&(r=Math.min(r,this.maxRatio)),r}},{key:"validateState",value:function(t){var r=this.getState();return this.enabledPanning&&typeof t.x=="number"&&(r.x=t.x),this.enabledPanning&&typeof t.y=="number"&&(r.y=t.y),this.enabledZooming&&typeof t.ratio=="number"&&(r.ratio=this.getBoundedRatio(t.ratio)),this.enabledRotation&&typeof t.angle=="number"&&(r.angle=t.angle),this.constrainState?this.constrainState(r):r}},{key:"isAnimating",value:function(){return this.nextFrame!==null}},{key:"setState",value:function(t){if(!this.enabled)return this;var r=this.validateState(t);return es(this.state,r)?this:(this.previousState=this.state,this.state=r,this.emit("updated",this.getState()),this)}},{key:"updateState",value:function(t){return this.setState(t(this.getState())),this}},{key:"animate",value:function(t,r){var i=this;return this.enabled?new Promise(function(o){return i.runAnimation(t,W(W({},as),r),o)}):Promise.resolve()}},{key:"cancelAnimation",value:function(){return this.nextFrame!==null&&(cancelAnimationFrame(this.nextFrame),this.nextFrame=null),this.resolveAnimation(),this.emitAnimationEnd(!1),this}},{key:"zoomIn",value:function(){var t=arguments.length>0&&arguments[0]!==void 0?arguments[0]:{},r=t.factor,i=r===void 0?Ks:r,o=qs(t,Cf);return this.animate({ratio:this.ratio/i},o)}},{key:"zoomOut",value:function(){var t=arguments.length>0&&arguments[0]!==void 0?arguments[0]:{},r=t.factor,i=r===void 0?Ks:r,o=qs(t,Pf);return this.animate({ratio:this.ratio*i},o)}},{key:"reset",value:function(t){return this.animate(Yr,t)}},{key:"runAnimation",value:function(t,r,i){var o=this,s=ia(r.easing),l=Date.now(),d=this.getState(),u=this.validateState(t),f=function(){if(!o.enabled){o.cancelAnimation();return}var h=r.duration>0?(Date.now()-l)/r.duration:1;if(h>=1){o.nextFrame=null,o.setState(u),o.resolveAnimation(),o.emitAnimationEnd(!0);return}var p=s(h);o.setState({x:d.x+(u.x-d.x)*p,y:d.y+(u.y-d.y)*p,angle:d.angle+(u.angle-d.angle)*p,ratio:d.ratio+(u.ratio-d.ratio)*p}),o.nextFrame=requestAnimationFrame(f)};this.cancelAnimation(),this.currentAnimationFrom=d,this.currentAnimationTo=u,this.animationCallback=i,this.emit("animationStart",{from:d,to:u}),f()}},{key:"resolveAnimation",value:function(){var t=this.animationCallback;this.animationCallback=null,t&&t()}},{key:"emitAnimationEnd",value:function(t){var r=this.currentAnimationFrom,i=this.currentAnimationTo;!r||!i||(this.currentAnimationFrom=null,this.currentAnimationTo=null,this.emit("animationEnd",{from:r,to:i,completed:t}))}}],[{key:"from",value:function(t){var r=new n;return r.setState(t)}}])})(da);function Le(a,n){var e=n.getBoundingClientRect();return{x:a.clientX-e.left,y:a.clientY-e.top}}function je(a,n){var e=W(W({},Le(a,n)),{},{sigmaDefaultPrevented:!1,preventSigmaDefault:function(){e.sigmaDefaultPrevented=!0},original:a});return e}function xt(a){var n="x"in a?a:W(W({},a.touches[0]||a.previousTouches[0]),{},{original:a.original,sigmaDefaultPrevented:a.sigmaDefaultPrevented,preventSigmaDefault:function(){a.sigmaDefaultPrevented=!0,n.sigmaDefaultPrevented=!0}});return n}function Ff(a,n){var e=je(a,n);return e.delta=cl(a),e}var If=2;function ka(a){for(var n=[],e=0,t=Math.min(a.length,If);e<t;e++)n.push(a[e]);return n}function Sn(a,n,e){var t={touches:ka(a.touches).map(function(r){return Le(r,e)}),previousTouches:n.map(function(r){return Le(r,e)}),sigmaDefaultPrevented:!1,preventSigmaDefault:function(){t.sigmaDefaultPrevented=!0},original:a};return t}function cl(a){if(typeof a.deltaY<"u")return a.deltaY*-3/360;if(typeof a.detail<"u")return a.detail/-9;throw new Error("Captor: could not extract delta from event.")}var hl=(function(a){function n(e,t){var r;return J(this,n),r=ce(this,n),r.container=e,r.renderer=t,r}return he(n,a),ee(n)})(da),Mf=["doubleClickTimeout","doubleClickZoomingDuration","doubleClickZoomingRatio","dragTimeout","draggedEventsTolerance","enableCameraMouseRotation","gestureTarget","inertiaDuration","inertiaRatio","zoomDuration","zoomingRatio"],Nf=Mf.reduce(function(a,n){return W(W({},a),{},w({},n,ha[n]))},{});function En(a){return a instanceof PointerEvent&&a.pointerType==="touch"}var Gf=(function(a){function n(e,t){var r;return J(this,n),r=ce(this,n,[e,t]),w(r,"enabled",!0),w(r,"draggedEvents",0),w(r,"downStartTime",null),w(r,"lastMouseX",null),w(r,"lastMouseY",null),w(r,"isMouseDown",!1),w(r,"isMoving",!1),w(r,"isPanningStage",!1),w(r,"movingTimeout",null),w(r,"startCameraState",null),w(r,"clicks",0),w(r,"doubleClickTimeout",null),w(r,"isRightMouseDown",!1),w(r,"startRotationAngle",null),w(r,"startCameraAngle",null),w(r,"currentWheelDirection",0),w(r,"lastWheelAnimationId",0),w(r,"settings",Nf),r.handleRightClick=r.handleRightClick.bind(r),r.handleDown=r.handleDown.bind(r),r.handleUp=r.handleUp.bind(r),r.handleMove=r.handleMove.bind(r),r.handleWheel=r.handleWheel.bind(r),r.handleLeave=r.handleLeave.bind(r),r.handleEnter=r.handleEnter.bind(r),e.addEventListener("contextmenu",r.handleRightClick,{capture:!1}),e.addEventListener("pointerdown",r.handleDown,{capture:!1}),e.addEventListener("wheel",r.handleWheel,{capture:!1,passive:!1}),e.addEventListener("pointerleave",r.handleLeave,{capture:!1}),e.addEventListener("pointerenter",r.handleEnter,{capture:!1}),document.addEventListener("pointermove",r.handleMove,{capture:!1}),document.addEventListener("pointerup",r.handleUp,{capture:!1}),r}return he(n,a),ee(n,[{key:"kill",value:function(){var t=this.container;t.removeEventListener("contextmenu",this.handleRightClick),t.removeEventListener("pointerdown",this.handleDown),t.removeEventListener("wheel",this.handleWheel),t.removeEventListener("pointerleave",this.handleLeave),t.removeEventListener("pointerenter",this.handleEnter),document.removeEventListener("pointermove",this.handleMove),document.removeEventListener("pointerup",this.handleUp)}},{key:"handleClick",value:function(t){var r=this;if(this.enabled){if(this.clicks++,this.clicks===2)return this.clicks=0,typeof this.doubleClickTimeout=="number"&&(clearTimeout(this.doubleClickTimeout),this.doubleClickTimeout=null),this.handleDoubleClick(t);setTimeout(function(){r.clicks=0,r.doubleClickTimeout=null},this.settings.doubleClickTimeout),this.draggedEvents<this.settings.draggedEventsTolerance&&this.emit("click",je(t,this.container))}}},{key:"handleRightClick",value:function(t){this.enabled&&(this.settings.enableCameraMouseRotation&&t.preventDefault(),this.emit("rightClick",je(t,this.container)))}},{key:"handleDoubleClick",value:function(t){if(this.enabled){t.preventDefault(),t.stopPropagation();var r=je(t,this.container);if(this.emit("doubleClick",r),!r.sigmaDefaultPrevented){var i=this.renderer.getCamera(),o=i.getBoundedRatio(i.getState().ratio/this.settings.doubleClickZoomingRatio);i.animate(this.renderer.getViewportZoomedState(Le(t,this.container),o),{easing:"quadraticInOut",duration:this.settings.doubleClickZoomingDuration})}}}},{key:"handleDown",value:function(t){if(!(!this.enabled||En(t))){if(t.button===0){this.startCameraState=this.renderer.getCamera().getState();var r=Le(t,this.container),i=r.x,o=r.y;this.lastMouseX=i,this.lastMouseY=o,this.draggedEvents=0,this.downStartTime=Date.now(),this.isMouseDown=!0}if(t.button===2&&this.settings.enableCameraMouseRotation){var s=Le(t,this.container),l=s.x,d=s.y,u=this.container.offsetWidth/2,f=this.container.offsetHeight/2;this.startRotationAngle=Math.atan2(d-f,l-u),this.startCameraAngle=this.renderer.getCamera().getState().angle,this.isRightMouseDown=!0}this.emit("mousedown",je(t,this.container))}}},{key:"handleUp",value:function(t){var r=this;if(!(!this.enabled||En(t)||!this.isMouseDown&&!this.isRightMouseDown)){if(this.isRightMouseDown){this.isRightMouseDown=!1,this.startRotationAngle=null,this.startCameraAngle=null,this.emit("mouseup",je(t,this.container));return}var i=this.renderer.getCamera();this.isMouseDown=!1,this.isPanningStage&&(this.isPanningStage=!1,this.renderer._setPanning(!1)),typeof this.movingTimeout=="number"&&(clearTimeout(this.movingTimeout),this.movingTimeout=null);var o=Le(t,this.container),s=o.x,l=o.y,d=i.getState(),u=i.getPreviousState();this.isMoving?i.animate({x:d.x+this.settings.inertiaRatio*(d.x-u.x),y:d.y+this.settings.inertiaRatio*(d.y-u.y)},{duration:this.settings.inertiaDuration,easing:"quadraticOut"}):(this.lastMouseX!==s||this.lastMouseY!==l)&&i.setState({x:d.x,y:d.y}),this.isMoving=!1,setTimeout(function(){var f=r.draggedEvents>0;r.draggedEvents=0;var g=r.renderer.getSetting("hideEdgesOnMove")||r.renderer.getSetting("hideLabelsOnMove");f&&g&&r.renderer.refresh()},0),this.emit("mouseup",je(t,this.container)),(t.target===this.container||t.composedPath()[0]===this.container)&&this.handleClick(t)}}},{key:"handleMove",value:function(t){var r=this;if(!(!this.enabled||En(t))){var i=je(t,this.container);if(this.emit("mousemovebody",i),(t.target===this.container||t.composedPath()[0]===this.container)&&this.emit("mousemove",i),this.isMouseDown&&this.draggedEvents++,!i.sigmaDefaultPrevented){if(this.isMouseDown){this.isMoving=!0,typeof this.movingTimeout=="number"&&clearTimeout(this.movingTimeout),this.movingTimeout=window.setTimeout(function(){r.movingTimeout=null,r.isMoving=!1},this.settings.dragTimeout);var o=this.renderer.getCamera(),s=Le(t,this.container),l=s.x,d=s.y,u=this.renderer.viewportToFramedGraph({x:this.lastMouseX,y:this.lastMouseY}),f=this.renderer.viewportToFramedGraph({x:l,y:d}),g=u.x-f.x,h=u.y-f.y,p=o.getState(),y=p.x+g,m=p.y+h;this.isPanningStage||(this.isPanningStage=!0,this.renderer._setPanning(!0)),o.setState({x:y,y:m}),this.lastMouseX=l,this.lastMouseY=d,t.preventDefault(),t.stopPropagation()}if(this.isRightMouseDown){var v=Le(t,this.container),b=v.x,_=v.y,x=this.container.offsetWidth/2,T=this.container.offsetHeight/2,S=Math.atan2(_-T,b-x),A=S-this.startRotationAngle,E=this.renderer.getCamera();E.setState({angle:this.startCameraAngle+A}),t.preventDefault(),t.stopPropagation()}}}}},{key:"handleLeave",value:function(t){En(t)||this.emit("mouseleave",je(t,this.container))}},{key:"handleEnter",value:function(t){En(t)||this.emit("mouseenter",je(t,this.container))}},{key:"handleWheel",value:function(t){var r=this,i=this.renderer.getCamera();if(!(!this.enabled||!i.enabledZooming)){var o=Ff(t,this.container);if(this.emit("wheel",o),!o.sigmaDefaultPrevented){var s=this.settings.gestureTarget;if(s!=="page"){if(s==="shared"&&!t.ctrlKey&&!t.metaKey){this.renderer._showGestureHint("wheel");return}var l=cl(t);if(l){t.preventDefault(),t.stopPropagation();var d=i.getState().ratio,u=l>0?1/this.settings.zoomingRatio:this.settings.zoomingRatio,f=i.getBoundedRatio(d*u),g=l>0?1:-1,h=Date.now();if(d!==f&&!(this.currentWheelDirection===g&&this.lastWheelTriggerTime&&h-this.lastWheelTriggerTime<this.settings.zoomDuration/5)){var p=++this.lastWheelAnimationId;i.animate(this.renderer.getViewportZoomedState(Le(t,this.container),f),{easing:"quadraticOut",duration:this.settings.zoomDuration}).then(function(){r.lastWheelAnimationId===p&&(r.currentWheelDirection=0)}),this.currentWheelDirection=g,this.lastWheelTriggerTime=h}}}}}}},{key:"setSettings",value:function(t){this.settings=t}}])})(hl),zf=["dragTimeout","gestureTarget","inertiaDuration","inertiaRatio","doubleClickTimeout","doubleClickZoomingRatio","doubleClickZoomingDuration","tapMoveTolerance"],Of=zf.reduce(function(a,n){return W(W({},a),{},w({},n,ha[n]))},{}),Wf=(function(a){function n(e,t){var r;return J(this,n),r=ce(this,n,[e,t]),w(r,"enabled",!0),w(r,"isMoving",!1),w(r,"hasMoved",!1),w(r,"isPanningStage",!1),w(r,"isZoomingStage",!1),w(r,"touchMode",0),w(r,"startTouchesPositions",[]),w(r,"lastTouches",[]),w(r,"lastTap",null),w(r,"settings",Of),r.handleStart=r.handleStart.bind(r),r.handleLeave=r.handleLeave.bind(r),r.handleMove=r.handleMove.bind(r),e.addEventListener("touchstart",r.handleStart,{capture:!1}),e.addEventListener("touchcancel",r.handleLeave,{capture:!1}),document.addEventListener("touchend",r.handleLeave,{capture:!1,passive:!1}),document.addEventListener("touchmove",r.handleMove,{capture:!1,passive:!1}),r}return he(n,a),ee(n,[{key:"kill",value:function(){var t=this.container;t.removeEventListener("touchstart",this.handleStart),t.removeEventListener("touchcancel",this.handleLeave),document.removeEventListener("touchend",this.handleLeave),document.removeEventListener("touchmove",this.handleMove)}},{key:"getDimensions",value:function(){return{width:this.container.offsetWidth,height:this.container.offsetHeight}}},{key:"doesCapture",value:function(t){var r=this.settings.gestureTarget;return r==="graph"?!0:r==="page"?!1:t>=2}},{key:"syncStageFlags",value:function(){var t=this.touchMode===1&&this.hasMoved,r=this.touchMode===2;t!==this.isPanningStage&&(this.isPanningStage=t,this.renderer._setPanning(t)),r!==this.isZoomingStage&&(this.isZoomingStage=r,this.renderer._setZooming(r))}},{key:"handleStart",value:function(t){var r=this;if(this.enabled){var i=ka(t.touches);if(this.touchMode=i.length,this.startCameraState=this.renderer.getCamera().getState(),this.startTouchesPositions=i.map(function(h){return Le(h,r.container)}),this.touchMode===2){var o=ne(this.startTouchesPositions,2),s=o[0],l=s.x,d=s.y,u=o[1],f=u.x,g=u.y;this.startTouchesAngle=Math.atan2(g-d,f-l),this.startTouchesDistance=Math.sqrt(Math.pow(f-l,2)+Math.pow(g-d,2))}this.syncStageFlags(),this.emit("touchdown",Sn(t,this.lastTouches,this.container)),this.lastTouches=i,this.lastTouchesPositions=this.startTouchesPositions,t.cancelable&&(this.doesCapture(t.touches.length)||this.renderer._hasNodeDrag())&&t.preventDefault()}}},{key:"handleLeave",value:function(t){if(!(!this.enabled||!this.startTouchesPositions.length)){switch(t.cancelable&&this.doesCapture(this.touchMode)&&t.preventDefault(),this.movingTimeout&&(this.isMoving=!1,clearTimeout(this.movingTimeout)),this.touchMode){case 2:if(t.touches.length===1){this.handleStart(t);break}case 1:if(this.isMoving){var r=this.renderer.getCamera(),i=r.getState(),o=r.getPreviousState();r.animate({x:i.x+this.settings.inertiaRatio*(i.x-o.x),y:i.y+this.settings.inertiaRatio*(i.y-o.y)},{duration:this.settings.inertiaDuration,easing:"quadraticOut"})}this.hasMoved=!1,this.isMoving=!1,this.touchMode=0;break}if(this.syncStageFlags(),this.emit("touchup",Sn(t,this.lastTouches,this.container)),!t.touches.length){var s=Le(this.lastTouches[0],this.container),l=this.startTouchesPositions[0],d=Math.pow(s.x-l.x,2)+Math.pow(s.y-l.y,2);if(!t.touches.length&&d<Math.pow(this.settings.tapMoveTolerance,2))if(this.lastTap&&Date.now()-this.lastTap.time<this.settings.doubleClickTimeout){var u=Sn(t,this.lastTouches,this.container);if(this.emit("doubletap",u),this.lastTap=null,!u.sigmaDefaultPrevented&&this.settings.gestureTarget!=="page"){var f=this.renderer.getCamera(),g=f.getBoundedRatio(f.getState().ratio/this.settings.doubleClickZoomingRatio);f.animate(this.renderer.getViewportZoomedState(s,g),{easing:"quadraticInOut",duration:this.settings.doubleClickZoomingDuration})}}else{var h=Sn(t,this.lastTouches,this.container);this.emit("tap",h),this.lastTap={time:Date.now(),position:h.touches[0]||h.previousTouches[0]}}}this.lastTouches=ka(t.touches),this.startTouchesPositions=[]}}},{key:"handleMove",value:function(t){var r=this;if(!(!this.enabled||!this.startTouchesPositions.length)){var i=this.doesCapture(t.touches.length);i&&t.preventDefault();var o=ka(t.touches),s=o.map(function(j){return Le(j,r.container)}),l=this.lastTouches;this.lastTouches=o,this.lastTouchesPositions=s;var d=Sn(t,l,this.container);if(this.emit("touchmove",d),!d.sigmaDefaultPrevented&&(this.hasMoved||(this.hasMoved=s.some(function(j,Q){var q=r.startTouchesPositions[Q];return q&&(j.x!==q.x||j.y!==q.y)})),!!this.hasMoved)){if(!i){this.settings.gestureTarget==="shared"&&this.renderer._showGestureHint("touch");return}this.isMoving=!0,this.syncStageFlags(),this.movingTimeout&&clearTimeout(this.movingTimeout),this.movingTimeout=window.setTimeout(function(){r.isMoving=!1},this.settings.dragTimeout);var u=this.renderer.getCamera(),f=this.startCameraState,g=this.renderer.getSetting("stagePadding");switch(this.touchMode){case 1:{var h=this.renderer.viewportToFramedGraph((this.startTouchesPositions||[])[0]),p=h.x,y=h.y,m=this.renderer.viewportToFramedGraph(s[0]),v=m.x,b=m.y;u.setState({x:f.x+p-v,y:f.y+y-b});break}case 2:{var _={x:.5,y:.5,angle:0,ratio:1},x=s[0],T=x.x,S=x.y,A=s[1],E=A.x,k=A.y,D=Math.atan2(k-S,E-T)-this.startTouchesAngle,C=Math.hypot(k-S,E-T)/this.startTouchesDistance,R=u.getBoundedRatio(f.ratio/C);_.ratio=R,_.angle=f.angle+D;var F=this.getDimensions(),L=this.renderer.viewportToFramedGraph((this.startTouchesPositions||[])[0],{cameraState:f}),M=Math.min(F.width,F.height)-2*g,G=M/F.width,N=M/F.height,I=R/M,P=T-M/2/G,z=S-M/2/N,V=cr({x:P,y:z},_.angle);P=V.x,z=V.y,_.x=L.x-P*I,_.y=L.y+z*I,u.setState(_);break}}}}}},{key:"setSettings",value:function(t){this.settings=t}}])})(hl),Bf=(function(){function a(n,e,t,r){J(this,a),w(this,"pendingNode",null),w(this,"session",null),this.graph=n,this.viewportToGraph=e,this.setNodesState=t,this.emit=r}return ee(a,[{key:"start",value:function(e,t,r,i,o){var s=r(e),l=!1;if(this.emit("nodeDragStart",{node:e,allDraggedNodes:s,event:t,preventSigmaDefault:function(){l=!0}}),l)return!1;var d=new Map,u=O(s),f;try{for(u.s();!(f=u.n()).done;){var g=f.value;d.set(g,{x:this.graph.getNodeAttribute(g,i),y:this.graph.getNodeAttribute(g,o)})}}catch(h){u.e(h)}finally{u.f()}return this.session={node:e,allNodes:s,startPosition:this.viewportToGraph(t),startNodePositions:d,xAttr:i,yAttr:o},this.setNodesState(s,{isDragged:!0}),!0}},{key:"applyMove",value:function(e,t){var r=this.session,i=r.allNodes,o=r.startNodePositions,s=r.startPosition,l=r.xAttr,d=r.yAttr,u=this.viewportToGraph(e),f={x:u.x-s.x,y:u.y-s.y},g=O(i),h;try{for(g.s();!(h=g.n()).done;){var p=h.value,y=o.get(p);if(!(!y||!this.graph.hasNode(p))){var m={x:y.x+f.x,y:y.y+f.y};t?this.graph.mergeNodeAttributes(p,t(m,p)):(this.graph.setNodeAttribute(p,l,m.x),this.graph.setNodeAttribute(p,d,m.y))}}}catch(v){g.e(v)}finally{g.f()}}},{key:"end",value:function(){if(this.pendingNode=null,!this.session)return null;var e=this.session,t=e.node,r=e.allNodes;return this.setNodesState(r,{isDragged:!1}),this.session=null,{node:t,allNodes:r}}},{key:"removeNode",value:function(e){e===this.pendingNode&&(this.pendingNode=null),this.session&&(this.session.node===e?(this.setNodesState(this.session.allNodes,{isDragged:!1}),this.session=null):this.session.allNodes.includes(e)&&(this.session.allNodes=this.session.allNodes.filter(function(t){return t!==e}),this.session.startNodePositions.delete(e)))}},{key:"clear",value:function(){this.pendingNode=null,this.session=null}}])})();function Zs(a,n){return a<n?"".concat(a,"\0").concat(n):"".concat(n,"\0").concat(a)}var Uf=(function(){function a(n,e){J(this,a),w(this,"groups",new Map),w(this,"edgeToGroupKey",new Map),this.graph=n,this.onGroupChanged=e}return ee(a,[{key:"getGroupKey",value:function(e){return Zs(this.graph.source(e),this.graph.target(e))}},{key:"sortGroup",value:function(e,t){var r=this,i=t.split("\0")[0];e.sort(function(o,s){var l=r.graph.source(o)===i||!r.graph.isDirected(o)?0:1,d=r.graph.source(s)===i||!r.graph.isDirected(s)?0:1;return l-d})}},{key:"register",value:function(e){var t=this.getGroupKey(e),r=this.groups.get(t);r||(r=[],this.groups.set(t,r)),r.includes(e)||r.push(e),this.edgeToGroupKey.set(e,t),r.length>1&&this.sortGroup(r,t),this.onGroupChanged(r,r.length)}},{key:"unregister",value:function(e){var t=this.edgeToGroupKey.get(e);if(t){this.edgeToGroupKey.delete(e);var r=this.groups.get(t);if(r){var i=r.indexOf(e);i!==-1&&r.splice(i,1),r.length===0?this.groups.delete(t):this.onGroupChanged(r,r.length)}}}},{key:"getGroup",value:function(e){var t,r=this.edgeToGroupKey.get(e);return r?(t=this.groups.get(r))!==null&&t!==void 0?t:[]:[]}},{key:"getSiblings",value:function(e){return this.getGroup(e).filter(function(t){return t!==e})}},{key:"rebuild",value:function(){var e=this;this.groups.clear(),this.edgeToGroupKey.clear(),this.graph.forEachEdge(function(l,d,u,f){var g=Zs(u,f),h=e.groups.get(g);h||(h=[],e.groups.set(g,h)),h.push(l),e.edgeToGroupKey.set(l,g)});var t=O(this.groups),r;try{for(t.s();!(r=t.n()).done;){var i=ne(r.value,2),o=i[0],s=i[1];s.length>1&&this.sortGroup(s,o),this.onGroupChanged(s,s.length)}}catch(l){t.e(l)}finally{t.f()}}},{key:"clear",value:function(){this.groups.clear(),this.edgeToGroupKey.clear()}}])})();function Qs(a,n){var e;if(a===!1||a==="extend"||a==="separate")return a;var t=a[n];return t!==void 0?t:(e=a.default)!==null&&e!==void 0?e:!1}function Js(a){return a===!1?!1:a==="extend"||a==="separate"?!0:Object.values(a).some(function(n){return n==="extend"||n==="separate"})}function el(a){return a==="separate"?!0:a===!1||a==="extend"?!1:a.default==="separate"?!0:Object.values(a).includes("separate")}var Se={node:{parent:null,eventSuffix:"Node",payloadKey:"node",isEnabled:function(){return!0},writesPickingThisFrame:function(){return!0},setHover:function(n,e,t){return n.setNodeState(e,{isHovered:t})},getCursor:function(n,e){var t;return(t=n.nodeDataCache[e])===null||t===void 0?void 0:t.cursor},isHitValid:function(n,e){var t;return((t=n.nodeDataCache[e])===null||t===void 0?void 0:t.visibility)!=="hidden"}},edge:{parent:null,eventSuffix:"Edge",payloadKey:"edge",isEnabled:function(n){return!!n.settings.enableEdgeEvents},writesPickingThisFrame:function(n){return!!n.settings.enableEdgeEvents},setHover:function(n,e,t){return n.setEdgeState(e,{isHovered:t})},getCursor:function(n,e){var t;return(t=n.edgeDataCache[e])===null||t===void 0?void 0:t.cursor}},nodeLabel:{parent:"node",eventSuffix:"NodeLabel",payloadKey:"node",isEnabled:function(n){return el(n.settings.nodeLabelEvents)},writesPickingThisFrame:function(n){return Js(n.settings.nodeLabelEvents)},setHover:function(n,e,t){return n.setNodeState(e,{isLabelHovered:t})},getCursor:function(n,e){var t;return(t=n.nodeDataCache[e])===null||t===void 0?void 0:t.labelCursor},resolveForVerb:function(n,e,t){var r=Qs(t.settings.nodeLabelEvents,e);return r===!1?null:r==="extend"?{kind:"node",key:n.key}:n}},edgeLabel:{parent:"edge",eventSuffix:"EdgeLabel",payloadKey:"edge",isEnabled:function(n){return el(n.settings.edgeLabelEvents)},writesPickingThisFrame:function(n){return Js(n.settings.edgeLabelEvents)},setHover:function(n,e,t){return n.setEdgeState(e,{isLabelHovered:t})},getCursor:function(n,e){var t;return(t=n.edgeDataCache[e])===null||t===void 0?void 0:t.labelCursor},resolveForVerb:function(n,e,t){var r=Qs(t.settings.edgeLabelEvents,e);return r===!1?null:r==="extend"?{kind:"edge",key:n.key}:n}}},Et=["node","edge","nodeLabel","edgeLabel"];function Hf(){return{lookup:[null],idsByKind:{node:new Map,edge:new Map,nodeLabel:new Map,edgeLabel:new Map},nextId:1}}function St(a,n,e){var t;return(t=a.idsByKind[n].get(e))!==null&&t!==void 0?t:0}function Zr(a,n){var e=O(Et),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;if(r===n||Se[r].parent===n){var i=O(a.idsByKind[r].values()),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;a.lookup[s]=null}}catch(g){i.e(g)}finally{i.f()}a.idsByKind[r]=new Map}}}catch(g){e.e(g)}finally{e.f()}var l=1,d=O(Et),u;try{for(d.s();!(u=d.n()).done;){var f=u.value;if(f===n)break;l+=a.idsByKind[f].size}}catch(g){d.e(g)}finally{d.f()}a.nextId=l}function tl(a,n,e){var t=a.nextId++;return a.idsByKind[n].set(e,t),a.lookup[t]={kind:n,key:e},t}function $f(a,n){var e=O(Et),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;if(Se[r].parent!==null){var i=O(a.idsByKind[r].values()),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;a.lookup[s]=null}}catch(T){i.e(T)}finally{i.f()}a.idsByKind[r]=new Map}}}catch(T){e.e(T)}finally{e.f()}a.nextId=1;var l=O(Et),d;try{for(l.s();!(d=l.n()).done;){var u=d.value;if(Se[u].parent===null){var f=O(a.idsByKind[u].values()),g;try{for(f.s();!(g=f.n()).done;){var h=g.value;h>=a.nextId&&(a.nextId=h+1)}}catch(T){f.e(T)}finally{f.f()}}}}catch(T){l.e(T)}finally{l.f()}var p=O(Et),y;try{for(p.s();!(y=p.n()).done;){var m=y.value,v=Se[m];if(!(v.parent===null||!v.isEnabled(n))){var b=O(a.idsByKind[v.parent].keys()),_;try{for(b.s();!(_=b.n()).done;){var x=_.value;a.idsByKind[m].set(x,a.nextId),a.lookup[a.nextId]={kind:m,key:x},a.nextId++}}catch(T){b.e(T)}finally{b.f()}}}}catch(T){p.e(T)}finally{p.f()}}function Vf(a,n){var e=O(Et),t;try{for(e.s();!(t=e.n()).done;){var r=t.value,i=a[r],o=n[r];if(i!==o){if(i.size!==o.size)return!1;var s=O(i),l;try{for(s.s();!(l=s.n()).done;){var d=ne(l.value,2),u=d[0],f=d[1];if(o.get(u)!==f)return!1}}catch(g){s.e(g)}finally{s.f()}}}}catch(g){e.e(g)}finally{e.f()}return!0}function nl(a,n,e){Se[n.kind].setHover(a,n.key,e)}function jf(a,n){return Se[n.kind].getCursor(a,n.key)}function wn(a,n){return"".concat(n).concat(Se[a].eventSuffix)}function An(a,n){return W(W({},n),{},w({},Se[a.kind].payloadKey,a.key))}function Xf(a,n,e){var t=Se[n.kind].resolveForVerb;return t?t(n,e,a):n}function qf(a,n){var e=Se[n.kind].isHitValid;return e?e(a,n.key):!0}function Qr(a){return Et.filter(function(n){return n===a||Se[n].parent===a})}function fl(a,n,e){return n&&(n=Xf(a,n,e)),n&&!qf(a,n)&&(n=null),n}function Jr(a,n,e){var t=e==="wheel"?a.stateManager.hovered:a.getHitAtPosition(n);return fl(a,t,e)}function Kf(a,n){return!a||!n?a===n:a.kind===n.kind&&a.key===n.key}function gl(a,n,e){var t={event:e,preventSigmaDefault:function(){return e.preventSigmaDefault()}},r=a.dragManager.session,i=r?{kind:"node",key:r.node}:fl(a,n,"enter"),o=a.stateManager,s=o.hovered;Kf(s,i)||(s&&(nl(a,s,!1),a.emit(wn(s.kind,"leave"),An(s,t))),o.setHovered(i),i&&(nl(a,i,!0),a.emit(wn(i.kind,"enter"),An(i,t))),a.updateContainerCursor())}function Yf(a,n,e,t){t.handleResize=function(){return a.scheduleRefresh()},window.addEventListener("resize",t.handleResize),t.handleMove=function(i){a.hoverResolver.pointerMoved(xt(i))},t.handleMoveBody=function(i){var o=xt(i),s=a.dragManager;if(s.pendingNode&&!s.session){var l=a.nodeStyleAnalysis,d=l.xAttribute,u=l.yAttribute,f=a.settings;s.start(s.pendingNode,o,f.getDraggedNodes,d||"x",u||"y"),s.pendingNode=null}s.session&&(s.applyMove(o,a.settings.dragPositionToAttributes),a.emit("nodeDrag",{node:s.session.node,allDraggedNodes:s.session.allNodes,event:o}),o.preventSigmaDefault()),a.emit("moveBody",{event:o,preventSigmaDefault:function(){return o.preventSigmaDefault()}})},t.handleLeave=function(i){var o=xt(i),s={event:o,preventSigmaDefault:function(){return o.preventSigmaDefault()}};a.hoverResolver.pointerLeft(),gl(a,null,o),a.emit("leaveStage",s)},t.handleEnter=function(i){var o=xt(i);a.emit("enterStage",{event:o,preventSigmaDefault:function(){return o.preventSigmaDefault()}})};var r=function(o){return function(s){var l=xt(s),d={event:l,preventSigmaDefault:function(){return l.preventSigmaDefault()}},u=Jr(a,l,o);if(u){a.emit(wn(u.kind,o),An(u,d));return}a.emit("".concat(o,"Stage"),d)}};t.handleClick=r("click"),t.handleRightClick=r("rightClick"),t.handleDoubleClick=r("doubleClick"),t.handleWheel=r("wheel"),t.handleDown=function(i){var o=xt(i),s={event:o,preventSigmaDefault:function(){return o.preventSigmaDefault()}},l=Jr(a,o,"down");if(l){l.kind==="node"&&a.settings.enableNodeDrag&&(a.dragManager.pendingNode=l.key),a.emit(wn(l.kind,"down"),An(l,s));return}a.emit("downStage",s)},t.handleUp=function(i){var o=xt(i),s={event:o,preventSigmaDefault:function(){return o.preventSigmaDefault()}},l=a.dragManager.end();l&&a.emit("nodeDragEnd",W({node:l.node,allDraggedNodes:l.allNodes},s));var d=Jr(a,o,"up");if(d){a.emit(wn(d.kind,"up"),An(d,s));return}a.emit("upStage",s)},n.on("mousemove",t.handleMove),n.on("mousemovebody",t.handleMoveBody),n.on("click",t.handleClick),n.on("rightClick",t.handleRightClick),n.on("doubleClick",t.handleDoubleClick),n.on("wheel",t.handleWheel),n.on("mousedown",t.handleDown),n.on("mouseup",t.handleUp),n.on("mouseleave",t.handleLeave),n.on("mouseenter",t.handleEnter),e.on("touchdown",t.handleDown),e.on("touchdown",t.handleMove),e.on("touchup",t.handleUp),e.on("touchmove",t.handleMove),e.on("tap",t.handleClick),e.on("doubletap",t.handleDoubleClick),e.on("touchmove",t.handleMoveBody)}function Zf(a,n){var e=a.graph,t=new Set(["x","y","zIndex","type"]);n.eachNodeAttributesUpdatedGraphUpdate=function(r){var i,o=(i=r.hints)===null||i===void 0?void 0:i.attributes,s=!o||o.some(function(l){return t.has(l)});a.refresh({partialGraph:{nodes:e.nodes()},skipIndexation:!s,schedule:!0})},n.eachEdgeAttributesUpdatedGraphUpdate=function(r){var i,o=(i=r.hints)===null||i===void 0?void 0:i.attributes,s=o&&["zIndex","type"].some(function(l){return o?.includes(l)});a.refresh({partialGraph:{edges:e.edges()},skipIndexation:!s,schedule:!0})},n.addNodeGraphUpdate=function(r){a.addNode(r.key),a.refresh({partialGraph:{nodes:[r.key]},skipIndexation:!1,schedule:!0})},n.updateNodeGraphUpdate=function(r){a.refresh({partialGraph:{nodes:[r.key]},skipIndexation:!1,schedule:!0})},n.dropNodeGraphUpdate=function(r){a.removeNode(r.key),a.refresh({schedule:!0})},n.addEdgeGraphUpdate=function(r){var i=r.key;a.edgeGroups.register(i),a.addEdge(i);var o=a.edgeGroups.getSiblings(i),s=O(o),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;a.addEdge(d)}}catch(u){s.e(u)}finally{s.f()}a.refresh({partialGraph:{edges:[i].concat(X(o))},schedule:!0})},n.updateEdgeGraphUpdate=function(r){a.refresh({partialGraph:{edges:[r.key]},skipIndexation:!1,schedule:!0})},n.dropEdgeGraphUpdate=function(r){var i=r.key,o=a.edgeGroups.getSiblings(i);a.edgeGroups.unregister(i),a.removeEdge(i);var s=O(o),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;a.addEdge(d)}}catch(u){s.e(u)}finally{s.f()}a.refresh({schedule:!0})},n.clearEdgesGraphUpdate=function(){a.clearEdgeState(),a.clearEdgeIndices(),a.refresh({schedule:!0})},n.clearGraphUpdate=function(){a.clearEdgeState(),a.clearNodeState(),a.clearEdgeIndices(),a.clearNodeIndices(),a.refresh({schedule:!0})},e.on("nodeAdded",n.addNodeGraphUpdate),e.on("nodeDropped",n.dropNodeGraphUpdate),e.on("nodeAttributesUpdated",n.updateNodeGraphUpdate),e.on("eachNodeAttributesUpdated",n.eachNodeAttributesUpdatedGraphUpdate),e.on("edgeAdded",n.addEdgeGraphUpdate),e.on("edgeDropped",n.dropEdgeGraphUpdate),e.on("edgeAttributesUpdated",n.updateEdgeGraphUpdate),e.on("eachEdgeAttributesUpdated",n.eachEdgeAttributesUpdatedGraphUpdate),e.on("edgesCleared",n.clearEdgesGraphUpdate),e.on("cleared",n.clearGraphUpdate)}function Qf(a,n){a.removeListener("nodeAdded",n.addNodeGraphUpdate),a.removeListener("nodeDropped",n.dropNodeGraphUpdate),a.removeListener("nodeAttributesUpdated",n.updateNodeGraphUpdate),a.removeListener("eachNodeAttributesUpdated",n.eachNodeAttributesUpdatedGraphUpdate),a.removeListener("edgeAdded",n.addEdgeGraphUpdate),a.removeListener("edgeDropped",n.dropEdgeGraphUpdate),a.removeListener("edgeAttributesUpdated",n.updateEdgeGraphUpdate),a.removeListener("eachEdgeAttributesUpdated",n.eachEdgeAttributesUpdatedGraphUpdate),a.removeListener("edgesCleared",n.clearEdgesGraphUpdate),a.removeListener("cleared",n.clearGraphUpdate)}var Jf={x:.5,y:.5,angle:0,ratio:1},eg=8,tg=.001;function ng(a){var n=a.coords,e=a.nodeData,t=a.dimensions,r=a.stagePadding,i=a.zoomToSizeRatioFunction,o=a.itemSizesReference,s=a.fitLabels,l=a.nodeLabelBox,d=Object.keys(n);if(!d.length)return a.extent;for(var u=i(1)||1,f=o==="positions",g=t.width,h=t.height,p=a.extent,y=0;y<eg;y++){for(var m=ca(p),v={width:p.x[1]-p.x[0]||1,height:p.y[1]-p.y[0]||1},b=at(Jf,t,v,r),_=al(b,m({x:0,y:0}),g,h),x=al(b,m({x:1,y:0}),g,h),T=Math.hypot(x.x-_.x,x.y-_.y)||1,S=1/0,A=-1/0,E=1/0,k=-1/0,D=0,C=d.length;D<C;D++){var R=d[D],F=e[R],L=F.size/u*(f?T:1),M=-L,G=L,N=-L,I=L;if(s){var P=l(F,L);P&&(P.minX<M&&(M=P.minX),P.maxX>G&&(G=P.maxX),P.minY<N&&(N=P.minY),P.maxY>I&&(I=P.maxY))}var z=n[R],V=z.x,j=z.y;S=Math.min(S,V+M/T),A=Math.max(A,V+G/T),E=Math.min(E,j-I/T),k=Math.max(k,j-N/T)}var Q={x:[S,A],y:[E,k]},q=Math.max(Q.x[1]-Q.x[0],Q.y[1]-Q.y[0])||1,Y=Math.max(Math.abs(Q.x[0]-p.x[0]),Math.abs(Q.x[1]-p.x[1]),Math.abs(Q.y[0]-p.y[0]),Math.abs(Q.y[1]-p.y[1]));if(p=Q,Y/q<tg)break}return p}function al(a,n,e,t){var r=Ft(a,n);return{x:(1+r.x)*e/2,y:(1-r.y)*t/2}}var ag=typeof navigator<"u"&&/Mac|iP(hone|ad|od)/.test(navigator.platform),rg=1500,ig=`.sigma-gesture-hint {
  position: absolute;
  inset: 0;
  display: flex;
  align-items: center;
  justify-content: center;
  text-align: center;
  padding: 1em;
  background: #00000066;
  color: #ffffff;
  font-size: 1em;
  pointer-events: none;
  transition: opacity 0.1s;
}`;function rl(a){var n,e,t=zt("style");t.textContent=a,document.head.appendChild(t);var r=((n=(e=t.sheet)===null||e===void 0?void 0:e.cssRules.length)!==null&&n!==void 0?n:0)>0;return t.remove(),r}var Tt=null;function og(){return Tt===null&&(Tt=ig,rl("@scope {}")&&(Tt=`@scope {
`.concat(Tt,`
}`)),rl("@layer sigma-gesture-hint {}")&&(Tt=`@layer sigma-gesture-hint {
`.concat(Tt,`
}`))),Tt}var sg=(function(){function a(n){J(this,a),w(this,"hideTimeout",null),this.styleElement=zt("style"),this.styleElement.textContent=og(),n.appendChild(this.styleElement),this.element=zt("div",{opacity:"0"},{class:"sigma-gesture-hint"}),n.appendChild(this.element)}return ee(a,[{key:"show",value:function(e,t){var r=this,i=e==="touch"?t.sharedGestureTouchMessage:ag?t.sharedGestureAppleWheelMessage:t.sharedGestureWheelMessage;i&&(this.element.textContent=i,this.element.style.opacity="1",typeof this.hideTimeout=="number"&&clearTimeout(this.hideTimeout),this.hideTimeout=window.setTimeout(function(){r.hideTimeout=null,r.element.style.opacity="0"},rg))}},{key:"kill",value:function(){typeof this.hideTimeout=="number"&&clearTimeout(this.hideTimeout),this.styleElement.remove(),this.element.remove()}}])})(),lg=(function(){function a(n){J(this,a),w(this,"readBuffer",null),w(this,"fence",null),w(this,"result",new Uint8Array(4)),w(this,"generation",0),w(this,"readGeneration",0),w(this,"lastEvent",null),w(this,"active",!1),w(this,"dirty",!1),w(this,"rafId",null),w(this,"killed",!1),this.options=n}return ee(a,[{key:"pointerMoved",value:function(e){this.lastEvent=e,this.active=!0,!this.options.isRenderPending()&&this.request()}},{key:"pointerLeft",value:function(){this.active=!1,this.dirty=!1}},{key:"frameRendered",value:function(){this.request()}},{key:"invalidate",value:function(){this.generation++}},{key:"request",value:function(){if(!(this.killed||!this.active||!this.lastEvent)){if(this.fence){this.dirty=!0;return}this.startRead()}}},{key:"startRead",value:function(){var e=this.options,t=e.gl,r=e.getFrameBuffer,i=e.getPixelRatio,o=e.getDownSizingRatio;this.readGeneration=this.generation;var s=this.lastEvent,l=hr(t,s.x,s.y,i(),o()),d=ne(l,2),u=d[0],f=d[1];this.readBuffer||(this.readBuffer=t.createBuffer()),t.bindFramebuffer(t.FRAMEBUFFER,r()),t.bindBuffer(t.PIXEL_PACK_BUFFER,this.readBuffer),t.bufferData(t.PIXEL_PACK_BUFFER,4,t.STREAM_READ),t.readPixels(u,f,1,1,t.RGBA,t.UNSIGNED_BYTE,0),t.bindBuffer(t.PIXEL_PACK_BUFFER,null),t.bindFramebuffer(t.FRAMEBUFFER,null),this.fence=t.fenceSync(t.SYNC_GPU_COMMANDS_COMPLETE,0),t.flush(),this.schedulePoll(s)}},{key:"schedulePoll",value:function(e){var t=this;this.rafId=requestAnimationFrame(function(){t.rafId=null,t.poll(e)})}},{key:"poll",value:function(e){var t=this.options,r=t.gl,i=t.onIndex;if(!(this.killed||!this.fence)){var o=r.clientWaitSync(this.fence,0,0);if(o===r.TIMEOUT_EXPIRED){this.schedulePoll(e);return}if(r.deleteSync(this.fence),this.fence=null,o!==r.WAIT_FAILED&&this.readGeneration===this.generation){r.bindBuffer(r.PIXEL_PACK_BUFFER,this.readBuffer),r.getBufferSubData(r.PIXEL_PACK_BUFFER,0,this.result),r.bindBuffer(r.PIXEL_PACK_BUFFER,null);var s=ne(this.result,4),l=s[0],d=s[1],u=s[2],f=s[3];this.active&&i(fr(l,d,u,f),e)}this.dirty&&(this.dirty=!1,this.active&&this.lastEvent&&!this.options.isRenderPending()&&this.startRead())}}},{key:"reset",value:function(){this.rafId!==null&&cancelAnimationFrame(this.rafId),this.rafId=null,this.fence=null,this.readBuffer=null,this.dirty=!1}},{key:"kill",value:function(){this.killed=!0,this.rafId!==null&&cancelAnimationFrame(this.rafId),this.rafId=null;var e=this.options.gl;this.fence&&e.deleteSync(this.fence),this.fence=null,this.readBuffer&&e.deleteBuffer(this.readBuffer),this.readBuffer=null}}])})(),il=(function(){function a(n,e){J(this,a),this.key=n,this.size=e}return ee(a,null,[{key:"compare",value:function(e,t){return e.size>t.size?-1:e.size<t.size||e.key>t.key?1:-1}}])})(),Da=(function(){function a(){J(this,a),w(this,"width",0),w(this,"height",0),w(this,"cellSize",0),w(this,"columns",0),w(this,"rows",0),w(this,"cells",{})}return ee(a,[{key:"resizeAndClear",value:function(e,t){this.width=e.width,this.height=e.height,this.cellSize=t,this.columns=Math.ceil(e.width/t),this.rows=Math.ceil(e.height/t),this.cells={}}},{key:"getIndex",value:function(e){var t=Math.floor(e.x/this.cellSize),r=Math.floor(e.y/this.cellSize);return r*this.columns+t}},{key:"add",value:function(e,t,r){var i=new il(e,t),o=this.getIndex(r),s=this.cells[o];s||(s=[],this.cells[o]=s),s.push(i)}},{key:"organize",value:function(){for(var e in this.cells){var t=this.cells[e];t.sort(il.compare)}}},{key:"getLabelsToDisplay",value:function(e,t,r){var i=this.cellSize*this.cellSize,o=i/e/e,s=o*t/i,l=Math.ceil(s),d=[];if(r)for(var u=Math.max(0,Math.floor(r.x1/this.cellSize)),f=Math.min(this.columns-1,Math.floor(r.x2/this.cellSize)),g=Math.max(0,Math.floor(r.y1/this.cellSize)),h=Math.min(this.rows-1,Math.floor(r.y2/this.cellSize)),p=g;p<=h;p++)for(var y=u;y<=f;y++){var m=p*this.columns+y,v=this.cells[m];if(v)for(var b=0;b<Math.min(l,v.length);b++)d.push(v[b].key)}else for(var _ in this.cells)for(var x=this.cells[_],T=0;T<Math.min(l,x.length);T++)d.push(x[T].key);return d}}])})();function dg(a){var n=a.graph,e=a.hoveredNode,t=a.highlightedNodes,r=a.displayedNodeLabels,i=new Set,o=new Set(t);e&&o.add(e);var s=O(o),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;n.hasNode(d)&&n.forEachEdge(d,function(h){i.add(h)})}}catch(h){s.e(h)}finally{s.f()}var u=O(r),f;try{var g=function(){var p=f.value;if(o.has(p))return 1;n.forEachEdge(p,function(y,m,v,b){var _=v===p?b:v;r.has(_)&&i.add(y)})};for(u.s();!(f=u.n()).done;)g()}catch(h){u.e(h)}finally{u.f()}return Array.from(i)}var jt=150,Xt=50,ug={both:0,node:1,label:2},cg={over:0,above:1,below:2,auto:3},ol=12,hg=3,fg=(function(){function a(n){J(this,a),w(this,"labelGrid",new Da),w(this,"edgeAnchorGrid",new Da),w(this,"displayedNodeLabels",new Set),w(this,"displayedEdgeLabels",new Set),w(this,"edgeLabelCandidates",[]),w(this,"renderedNodeLabels",new Set),w(this,"labelSizeCache",new Map),w(this,"framePassPoints",new Float32Array(0)),w(this,"labelsDirty",!0),this.internals=n}return ee(a,[{key:"resetFrame",value:function(){this.displayedNodeLabels=new Set,this.renderedNodeLabels=new Set,this.labelSizeCache.clear()}},{key:"clearEdgeLabels",value:function(){this.displayedEdgeLabels=new Set}},{key:"resetLabelGrid",value:function(){this.labelGrid=new Da,this.edgeAnchorGrid=new Da}},{key:"processWebGLLabels",value:function(e){for(var t,r=this.internals,i=r.labelProgram,o=r.primitives,s=r.nodeDataCache,l=(o==null||(t=o.nodes)===null||t===void 0||(t=t.label)===null||t===void 0||(t=t.font)===null||t===void 0?void 0:t.family)||"sans-serif",d=new Map,u=0,f=e.length;u<f;u++){var g=e[u],h=s[g];if(!(h.visibility==="hidden"||!h.label)){var p=h.labelFont||l,y=d.get(p);y?y.push(h.label):d.set(p,[h.label])}}var m=O(d),v;try{for(m.s();!(v=m.n()).done;){var b=ne(v.value,2),_=b[0],x=b[1],T=ga(_),S=T.family,A=T.weight,E=T.style,k=i.registerFont(S,A,E);i.ensureGlyphsReady(x,k)}}catch(D){m.e(D)}finally{m.f()}}},{key:"measureNodeLabel",value:function(e){var t,r;if(!e.label)return{width:0,height:0,textHeight:0};var i=this.internals,o=i.labelProgram,s=i.primitives,l=(t=e.labelSize)!==null&&t!==void 0?t:14,d=e.labelFont||(s==null||(r=s.nodes)===null||r===void 0||(r=r.label)===null||r===void 0||(r=r.font)===null||r===void 0?void 0:r.family)||"sans-serif",u="".concat(e.label,"|").concat(l,"|").concat(d);if(this.labelSizeCache.has(u))return this.labelSizeCache.get(u);var f=ga(d),g=f.family,h=f.weight,p=f.style,y=o.registerFont(g,h,p),m=o.measureLabel(e.label,l,y);return this.labelSizeCache.set(u,m),m}},{key:"nodeLabelBox",value:function(e,t){var r,i,o,s,l;if(e.visibility==="hidden"||e.labelVisibility==="hidden")return null;var d=this.measureNodeLabel(e),u=d.width,f=d.height,g=d.textHeight;if(!u)return null;var h=(r=(i=this.internals.primitives)===null||i===void 0||(i=i.nodes)===null||i===void 0||(i=i.label)===null||i===void 0?void 0:i.margin)!==null&&r!==void 0?r:Bt,p=t+h,y=e.labelBackgroundColor?(o=e.labelBackgroundPadding)!==null&&o!==void 0?o:zr:0,m=u/2,v=f/2,b=m+y,_=v+y,x=g/2,T=0,S=0;switch((s=e.labelPosition)!==null&&s!==void 0?s:"right"){case"left":T=-(p+m);break;case"above":S=-(p+x);break;case"below":S=p+x;break;case"over":break;default:T=p+m}var A=(l=e.labelAngle)!==null&&l!==void 0?l:0,E=cr({x:T,y:S},A),k=E.x,D=E.y,C=Math.abs(Math.cos(A)),R=Math.abs(Math.sin(A)),F=C*b+R*_,L=R*b+C*_;return{minX:k-F,maxX:k+F,minY:D-L,maxY:D+L}}},{key:"computeDisplayedNodeLabels",value:function(){var e=this.internals.getCameraState(),t=this.internals.getDimensions(),r=t.width,i=t.height,o=this.internals.viewportToFramedGraph({x:-jt,y:-Xt}),s=this.internals.viewportToFramedGraph({x:r+jt,y:-Xt}),l=this.internals.viewportToFramedGraph({x:-jt,y:i+Xt}),d=this.internals.viewportToFramedGraph({x:r+jt,y:i+Xt}),u=Math.min(o.x,s.x,l.x,d.x),f=Math.max(o.x,s.x,l.x,d.x),g=Math.min(o.y,s.y,l.y,d.y),h=Math.max(o.y,s.y,l.y,d.y),p=at({x:.5,y:.5,ratio:1,angle:0},{width:r,height:i},this.internals.getGraphDimensions(),this.internals.getStagePadding()),y=function(P){var z=Ft(p,P);return{x:(1+z.x)*r/2,y:(1-z.y)*i/2}},m=y({x:u,y:g}),v=y({x:f,y:g}),b=y({x:u,y:h}),_=y({x:f,y:h}),x={x1:Math.min(m.x,v.x,b.x,_.x),y1:Math.min(m.y,v.y,b.y,_.y),x2:Math.max(m.x,v.x,b.x,_.x),y2:Math.max(m.y,v.y,b.y,_.y)},T=this.internals,S=T.settings,A=T.nodeDataCache,E=T.nodesWithForcedLabels,k=this.labelGrid.getLabelsToDisplay(e.ratio,S.labelDensity,x);Rr(k,E);for(var D=0,C=k.length;D<C;D++){var R=k[D],F=A[R];if(!this.displayedNodeLabels.has(R)&&!(F.visibility==="hidden"||F.labelVisibility==="hidden")&&F.label&&!(F.x<u||F.x>f||F.y<g||F.y>h)){var L=this.internals.framedGraphToViewport(F),M=L.x,G=L.y,N=this.internals.scaleSize(F.size);!it(F)&&N<S.labelRenderedSizeThreshold||M<-jt-N||M>r+jt+N||G<-Xt-N||G>i+Xt+N||this.displayedNodeLabels.add(R)}}}},{key:"buildFramePassPoints",value:function(){var e=this.internals,t=e.nodeDataCache,r=e.nodeDataTexture;if(!r)return{data:this.framePassPoints,count:0};var i=this.displayedNodeLabels.size*3;this.framePassPoints.length<i&&(this.framePassPoints=new Float32Array(i));var o=this.framePassPoints,s=0,l=O(this.displayedNodeLabels),d;try{for(l.s();!(d=l.n()).done;){var u,f,g=d.value,h=t[g];if(h){var p=r.getIndex(g);p<0||(o[s*3]=p,o[s*3+1]=(u=Wt[h.labelPosition||Ye.labelPosition])!==null&&u!==void 0?u:0,o[s*3+2]=(f=h.labelAngle)!==null&&f!==void 0?f:0,s++)}}}catch(y){l.e(y)}finally{l.f()}return{data:o,count:s}}},{key:"renderWebGLLabels",value:function(e,t){var r=this.internals,i=r.nodeDataCache,o=r.labelProgram,s=r.primitives,l=r.nodeDataTexture,d=[],u=O(this.displayedNodeLabels),f;try{for(u.s();!(f=u.n()).done;){var g=f.value;if(!this.renderedNodeLabels.has(g)){var h=i[g];t&&h.labelDepth!==t||(this.renderedNodeLabels.add(g),d.push(g))}}}catch(Ee){u.e(Ee)}finally{u.f()}if(d.length!==0){if(this.labelsDirty){for(var p,y,m,v=0,b=0,_=d.length;b<_;b++){var x=i[d[b]];v+=x.label.length}o.reallocate(v);for(var T=14,S=(p=s==null||(y=s.nodes)===null||y===void 0||(y=y.label)===null||y===void 0?void 0:y.margin)!==null&&p!==void 0?p:Bt,A=Ye.labelPosition,E=(s==null||(m=s.nodes)===null||m===void 0||(m=m.label)===null||m===void 0||(m=m.font)===null||m===void 0?void 0:m.family)||"sans-serif",k=new Map,D=0,C=0,R=d.length;C<R;C++){var F,L,M,G,N=d[C],I=i[N],P=I.labelFont||E,z=k.get(P);if(z===void 0){var V=ga(P),j=V.family,Q=V.weight,q=V.style;z=o.registerFont(j,Q,q),k.set(P,z)}var Y={text:I.label,x:I.x,y:I.y,size:(F=I.labelSize)!==null&&F!==void 0?F:T,color:I.labelColor,nodeSize:I.size,margin:S,position:(L=I.labelPosition)!==null&&L!==void 0?L:A,hidden:!1,forceLabel:it(I),type:"default",zIndex:(M=I.zIndex)!==null&&M!==void 0?M:0,parentType:"node",parentKey:N,fontKey:z,labelAngle:(G=I.labelAngle)!==null&&G!==void 0?G:0,nodeIndex:l.getIndex(N)},Ae=o.processLabel(N,D,Y);D+=Ae}o.invalidateBuffers()}o.render(e)}}},{key:"renderBackdrops",value:function(e,t){var r=this.internals,i=r.backdropProgram,o=r.nodeDataCache,s=r.nodesWithBackdrop,l=r.attachmentManager,d=r.pixelRatio,u=r.nodeDataTexture,f=[],g=O(s),h;try{for(g.s();!(h=g.n()).done;){var p,y=h.value,m=o[y];if(!(!m||m.visibility==="hidden")&&!(t&&m.depth!==t)){var v=(p=u?.getIndex(y))!==null&&p!==void 0?p:-1;v<0||f.push({key:y,nodeIndex:v})}}}catch(ut){g.e(ut)}finally{g.f()}if(f.length!==0){i.reallocate(f.length);for(var b=0;b<f.length;b++){var _,x,T,S,A,E,k,D,C=f[b],R=C.key,F=C.nodeIndex,L=o[R],M=this.displayedNodeLabels.has(R),G=M?this.measureNodeLabel(L):{width:0,height:0,textHeight:0},N=G.textHeight,I=G.width,P=G.height,z=0,V=0;if(M&&L.labelAttachment&&l){var j=l.getEntry(R,L.labelAttachment);if(j){var Q=L.labelAttachmentPlacement||"below";if(Q==="below"||Q==="above"){var q=j.height/d;P+=q+lt,I=Math.max(I,j.width/d),V=Q==="below"?(q+lt)/2:-(q+lt)/2}else{var Y=j.width/d;I+=Y+lt,P=Math.max(P,j.height/d),z=Q==="right"?(Y+lt)/2:-(Y+lt)/2}}}var Ae=L.backdropColor?rt(L.backdropColor):[255,255,255,255],Ee=L.backdropShadowColor?rt(L.backdropShadowColor):[0,0,0,128],H=Ae.map(function(ut){return ut/255}),ae=Ee.map(function(ut){return ut/255}),We=(_=L.backdropShadowBlur)!==null&&_!==void 0?_:12,Ce=(x=L.backdropPadding)!==null&&x!==void 0?x:6,xe=L.backdropBorderColor?rt(L.backdropBorderColor):[0,0,0,0],Ga=xe.map(function(ut){return ut/255}),ed=(T=L.backdropBorderWidth)!==null&&T!==void 0?T:0,td=(S=L.backdropCornerRadius)!==null&&S!==void 0?S:0,si=(A=L.backdropLabelPadding)!==null&&A!==void 0?A:-1,nd=si<0?Ce:si,ad=(E=ug[(k=L.backdropArea)!==null&&k!==void 0?k:"both"])!==null&&E!==void 0?E:0,rd={key:R,nodeIndex:F,label:L.label,labelWidth:I,labelHeight:P,textHeight:N,type:"default",position:L.labelPosition||Ye.labelPosition,labelAngle:(D=L.labelAngle)!==null&&D!==void 0?D:0,backdropColor:H,backdropShadowColor:ae,backdropShadowBlur:We,backdropPadding:Ce,backdropBorderColor:Ga,backdropBorderWidth:ed,backdropCornerRadius:td,backdropLabelPadding:nd,backdropArea:ad,labelBoxOffset:[z,V]};i.processBackdrop(b,rd)}i.invalidateBuffers(),i.render(e)}}},{key:"renderLabelBackgrounds",value:function(e,t){var r=this.internals,i=r.labelBackgroundProgram,o=r.nodeDataCache,s=r.nodeDataTexture,l=Se.nodeLabel.writesPickingThisFrame(this.internals),d=[],u=O(this.displayedNodeLabels),f;try{for(u.s();!(f=u.n()).done;){var g=f.value,h=o[g];!h||h.visibility==="hidden"||t&&h.labelDepth!==t||!l&&!h.labelBackgroundColor||d.push(g)}}catch(F){u.e(F)}finally{u.f()}if(d.length!==0){i.reallocate(d.length);for(var p=0;p<d.length;p++){var y,m,v,b,_=d[p],x=o[_],T=(y=s?.getIndex(_))!==null&&y!==void 0?y:-1;if(!(T<0)){var S=this.measureNodeLabel(x),A=S.width,E=S.height,k=S.textHeight,D=St(this.internals.pickingState,"nodeLabel",_)||St(this.internals.pickingState,"node",_),C=x.labelBackgroundColor?Ge(x.labelBackgroundColor):Ge("transparent"),R={nodeIndex:T,id:It(D),color:C,labelWidth:A,labelHeight:E,textHeight:k,positionMode:(m=Wt[x.labelPosition||Ye.labelPosition])!==null&&m!==void 0?m:0,labelAngle:(v=x.labelAngle)!==null&&v!==void 0?v:0,padding:(b=x.labelBackgroundPadding)!==null&&b!==void 0?b:zr};i.processLabelBackground(p,R)}}i.invalidateBuffers(),i.render(e)}}},{key:"cacheAttachments",value:function(e){var t=this.internals,r=t.attachmentManager,i=t.pixelRatio,o=t.nodeDataCache,s=t.nodesWithBackdrop,l=t.graph;if(r){var d=O(s),u;try{for(d.s();!(u=d.n()).done;){var f=u.value;if(this.displayedNodeLabels.has(f)){var g=o[f];if(!(!g||g.visibility==="hidden")&&!(e&&g.depth!==e)&&g.labelAttachment){var h=l.getNodeAttributes(f),p=this.measureNodeLabel(g),y=p.width,m=p.height,v={node:f,attributes:h,pixelRatio:i,labelWidth:y,labelHeight:m};r.renderAttachment(f,g.labelAttachment,v)}}}}catch(b){d.e(b)}finally{d.f()}r.regenerateAtlas()}}},{key:"renderAttachments",value:function(e,t){var r=this.internals,i=r.attachmentManager,o=r.attachmentProgram,s=r.nodeDataCache,l=r.nodesWithBackdrop,d=r.pixelRatio,u=r.nodeDataTexture;if(!(!i||!o)){var f=0;o.reallocateAttachments(l.size);var g=O(l),h;try{for(g.s();!(h=g.n()).done;){var p,y,m,v,b=h.value;if(this.displayedNodeLabels.has(b)){var _=s[b];if(!(!_||_.visibility==="hidden")&&!(t&&_.labelDepth!==t)&&_.labelAttachment){var x=i.getEntry(b,_.labelAttachment);if(x){var T=(p=u?.getIndex(b))!==null&&p!==void 0?p:-1;if(!(T<0)){var S=this.measureNodeLabel(_),A=S.width,E=S.height,k=S.textHeight,D=(y=Es[_.labelAttachmentPlacement||"below"])!==null&&y!==void 0?y:0;o.processAttachment(f,{nodeIndex:T,atlasX:x.x,atlasY:x.y,atlasW:x.width,atlasH:x.height,attachWidth:x.width/d,attachHeight:x.height/d,positionMode:(m=Wt[_.labelPosition||Ye.labelPosition])!==null&&m!==void 0?m:0,attachmentPlacement:D,labelWidth:A,labelHeight:E,textHeight:k,labelAngle:(v=_.labelAngle)!==null&&v!==void 0?v:0}),f++}}}}}}catch(C){g.e(C)}finally{g.f()}f!==0&&(o.reallocateAttachments(f),i.bindTexture(xn),o.invalidateBuffers(),o.render(e))}}},{key:"computeDisplayedEdgeLabels",value:function(){var e=this.internals,t=e.graph,r=e.stateManager,i=e.settings,o=e.edgesWithForcedLabels,s=r.getHighlightedNodes(),l=i.edgeLabelAnchors==="allNodes"?new Set(this.edgeAnchorGrid.getLabelsToDisplay(this.internals.getCameraState().ratio,i.labelDensity)):this.displayedNodeLabels,d=r.hovered,u=dg({graph:t,hoveredNode:d?.kind==="node"?d.key:null,displayedNodeLabels:l,highlightedNodes:s});Rr(u,o),this.edgeLabelCandidates=u,this.displayedEdgeLabels=new Set}},{key:"filterEdgeLabelsForDepth",value:function(e){for(var t=this.internals,r=t.graph,i=t.nodeDataCache,o=t.edgeDataCache,s=[],l=new Set,d=0,u=this.edgeLabelCandidates.length;d<u;d++){var f=this.edgeLabelCandidates[d];if(!l.has(f)){l.add(f);var g=r.extremities(f),h=i[g[0]],p=i[g[1]],y=o[f];!y||!h||!p||y.visibility==="hidden"||y.labelVisibility==="hidden"||h.visibility==="hidden"||p.visibility==="hidden"||e&&y.labelDepth!==e||y.label&&s.push(f)}}return s}},{key:"renderEdgeLabels",value:function(e,t){var r=this.internals,i=r.graph,o=r.nodeDataCache,s=r.edgeDataCache,l=r.primitives,d=r.edgeLabelProgram,u=r.nodeDataTexture,f=r.edgeDataTexture;if(d){var g=this.filterEdgeLabelsForDepth(t),h=O(g),p;try{for(h.s();!(p=h.n()).done;){var y=p.value;this.displayedEdgeLabels.add(y)}}catch(Y){h.e(Y)}finally{h.f()}if(g.length!==0){if(this.labelsDirty){var m,v,b=0,_=O(g),x;try{for(_.s();!(x=_.n()).done;){var T=x.value;b+=s[T].label.length}}catch(Y){_.e(Y)}finally{_.f()}d.reallocate(b);var S=(m=l==null||(v=l.edges)===null||v===void 0||(v=v.label)===null||v===void 0?void 0:v.margin)!==null&&m!==void 0?m:5,A="over",E=0,k=O(g),D;try{for(k.s();!(D=k.n()).done;){var C,R,F=D.value,L=i.extremities(F),M=L[0],G=L[1],N=o[M],I=o[G],P=s[F],z=u.getIndex(M),V=u.getIndex(G),j=f.getIndex(F),Q={text:P.label,x:(N.x+I.x)/2,y:(N.y+I.y)/2,size:ol,color:P.labelColor,nodeSize:0,nodeIndex:-1,margin:S,position:(C=P.labelPosition)!==null&&C!==void 0?C:A,hidden:!1,forceLabel:it(P),type:"default",zIndex:(R=P.zIndex)!==null&&R!==void 0?R:0,parentType:"edge",parentKey:F,fontKey:"",labelAngle:0,sourceX:N.x,sourceY:N.y,targetX:I.x,targetY:I.y,sourceSize:N.size,targetSize:I.size,sourceShape:N.shape||"circle",targetShape:I.shape||"circle",edgeSize:P.size,offset:0,edgeAttributes:P,sourceNodeIndex:z,targetNodeIndex:V,edgeIndex:j},q=d.processEdgeLabel(F,E,Q);E+=q}}catch(Y){k.e(Y)}finally{k.f()}d.invalidateBuffers()}d.render(e)}}}},{key:"renderEdgeLabelBackgrounds",value:function(e,t){var r,i,o=this.internals,s=o.edgeLabelBackgroundProgram,l=o.edgeLabelProgram,d=o.edgeDataCache,u=o.primitives,f=o.edgeDataTexture;if(!(!f||!l||!s)){var g=Se.edgeLabel.writesPickingThisFrame(this.internals),h=(r=u==null||(i=u.edges)===null||i===void 0||(i=i.label)===null||i===void 0?void 0:i.margin)!==null&&r!==void 0?r:5,p="over",y=this.filterEdgeLabelsForDepth(t),m=[],v=O(y),b;try{for(v.s();!(b=v.n()).done;){var _=b.value;!g&&!d[_].labelBackgroundColor||m.push(_)}}catch(N){v.e(N)}finally{v.f()}if(m.length!==0){s.reallocate(m.length);for(var x=0;x<m.length;x++){var T,S,A,E=m[x],k=d[E],D=k.label,C=l.measureLabelAtlasWidth(D),R=(T=k.labelPosition)!==null&&T!==void 0?T:p,F=typeof R=="string"&&(S=cg[R])!==null&&S!==void 0?S:0,L=St(this.internals.pickingState,"edgeLabel",E)||St(this.internals.pickingState,"edge",E),M=k.labelBackgroundColor?Ge(k.labelBackgroundColor):Ge("transparent"),G={edgeIndex:f.getIndex(E),baseFontSize:ol,totalTextWidth:C,positionMode:F,margin:h,padding:(A=k.labelBackgroundPadding)!==null&&A!==void 0?A:hg,color:M,id:It(L),edgeAttributes:k};s.processEdgeLabelBackground(x,E,G)}s.invalidateBuffers(),s.render(e)}}}}])})(),gg=(function(){function a(n,e,t,r){J(this,a),w(this,"nodeStates",new Map),w(this,"edgeStates",new Map),w(this,"hovered",null),w(this,"dirtyNodes",new Set),w(this,"dirtyEdges",new Set),w(this,"graphStateChanged",!1),w(this,"graphStateFlagsDirty",!1),this.scheduleRefresh=n,this.customNodeStateDefaults=e,this.customEdgeStateDefaults=t,this.customGraphStateDefaults=r,this.graphState=_r(r)}return ee(a,[{key:"getNodeState",value:function(e){e=""+e;var t=this.nodeStates.get(e);return t||(t=qo(this.customNodeStateDefaults),this.nodeStates.set(e,t)),t}},{key:"getEdgeState",value:function(e){e=""+e;var t=this.edgeStates.get(e);return t||(t=Ko(this.customEdgeStateDefaults),this.edgeStates.set(e,t)),t}},{key:"getGraphState",value:function(){return this.flushGraphStateFlags(),this.graphState}},{key:"getHighlightedNodes",value:function(){var e=new Set,t=O(this.nodeStates),r;try{for(t.s();!(r=t.n()).done;){var i=ne(r.value,2),o=i[0],s=i[1];s.isHighlighted&&e.add(o)}}catch(l){t.e(l)}finally{t.f()}return e}},{key:"setNodeState",value:function(e,t){e=""+e;var r=this.getNodeState(e);if(Gt(r,t)){var i=W(W({},r),t);this.nodeStates.set(e,i),this.dirtyNodes.add(e),this.updateHoveredNodeTracking(e,r,i),this.graphStateFlagsDirty=!0,this.scheduleRefresh()}}},{key:"setEdgeState",value:function(e,t){e=""+e;var r=this.getEdgeState(e);if(Gt(r,t)){var i=W(W({},r),t);this.edgeStates.set(e,i),this.dirtyEdges.add(e),this.updateHoveredEdgeTracking(e,r,i),this.graphStateFlagsDirty=!0,this.scheduleRefresh()}}},{key:"setGraphState",value:function(e){if(Gt(this.graphState,e)){var t=W(W({},this.graphState),e);t.isIdle=!t.isPanning&&!t.isZooming&&!t.isDragging,this.graphState=t,this.graphStateChanged=!0,this.scheduleRefresh()}}},{key:"setNodesState",value:function(e,t){var r=!1,i=O(e),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;s=""+s;var l=this.getNodeState(s);if(Gt(l,t)){var d=W(W({},l),t);this.nodeStates.set(s,d),this.dirtyNodes.add(s),this.updateHoveredNodeTracking(s,l,d),r=!0}}}catch(u){i.e(u)}finally{i.f()}r&&(this.graphStateFlagsDirty=!0,this.scheduleRefresh())}},{key:"setEdgesState",value:function(e,t){var r=!1,i=O(e),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;s=""+s;var l=this.getEdgeState(s);if(Gt(l,t)){var d=W(W({},l),t);this.edgeStates.set(s,d),this.dirtyEdges.add(s),this.updateHoveredEdgeTracking(s,l,d),r=!0}}}catch(u){i.e(u)}finally{i.f()}r&&(this.graphStateFlagsDirty=!0,this.scheduleRefresh())}},{key:"removeNode",value:function(e){this.nodeStates.delete(e),this.dirtyNodes.delete(e),this.clearHoveredFor("node",e)}},{key:"removeEdge",value:function(e){this.edgeStates.delete(e),this.dirtyEdges.delete(e),this.clearHoveredFor("edge",e)}},{key:"pruneNodes",value:function(e){var t=O(this.nodeStates.keys()),r;try{for(t.s();!(r=t.n()).done;){var i=r.value;e(i)||this.removeNode(i)}}catch(o){t.e(o)}finally{t.f()}}},{key:"pruneEdges",value:function(e){var t=O(this.edgeStates.keys()),r;try{for(t.s();!(r=t.n()).done;){var i=r.value;e(i)||this.removeEdge(i)}}catch(o){t.e(o)}finally{t.f()}}},{key:"clearNodes",value:function(){this.nodeStates.clear(),this.dirtyNodes.clear(),this.clearHoveredForKinds(Qr("node"))}},{key:"clearEdges",value:function(){this.edgeStates.clear(),this.dirtyEdges.clear(),this.clearHoveredForKinds(Qr("edge"))}},{key:"resetGraphState",value:function(){this.graphState=_r(this.customGraphStateDefaults),this.graphStateChanged=!1,this.graphStateFlagsDirty=!1}},{key:"clearDirtyTracking",value:function(){this.dirtyNodes.clear(),this.dirtyEdges.clear(),this.graphStateChanged=!1}},{key:"setHovered",value:function(e){this.hovered=e}},{key:"clearHoveredFor",value:function(e,t){this.hovered&&this.hovered.key===t&&Qr(e).includes(this.hovered.kind)&&(this.hovered=null)}},{key:"clearHoveredForKinds",value:function(e){this.hovered&&e.includes(this.hovered.kind)&&(this.hovered=null)}},{key:"updateGraphStateFromNodes",value:function(){var e,t=!1,r=!1,i=!1,o=O(this.nodeStates),s;try{for(o.s();!(s=o.n()).done;){var l=ne(s.value,2),d=l[1];if(d.isHovered&&(t=!0),d.isHighlighted&&(r=!0),d.isDragged&&(i=!0),t&&r&&i)break}}catch(f){o.e(f)}finally{o.f()}!t&&((e=this.hovered)===null||e===void 0?void 0:e.kind)==="edge"&&(t=!0);var u=!this.graphState.isPanning&&!this.graphState.isZooming&&!i;(this.graphState.hasHovered!==t||this.graphState.hasHighlighted!==r||this.graphState.isDragging!==i||this.graphState.isIdle!==u)&&(this.graphStateChanged=!0),this.graphState=W(W({},this.graphState),{},{hasHovered:t,hasHighlighted:r,isDragging:i,isIdle:u})}},{key:"updateGraphStateFromEdges",value:function(){var e,t=((e=this.hovered)===null||e===void 0?void 0:e.kind)==="node";if(!t){var r=O(this.edgeStates),i;try{for(r.s();!(i=r.n()).done;){var o=ne(i.value,2),s=o[1];if(s.isHovered){t=!0;break}}}catch(l){r.e(l)}finally{r.f()}}this.graphState.hasHovered!==t&&(this.graphStateChanged=!0),this.graphState=W(W({},this.graphState),{},{hasHovered:t})}},{key:"flushGraphStateFlags",value:function(){this.graphStateFlagsDirty&&(this.updateGraphStateFromNodes(),this.updateGraphStateFromEdges(),this.graphStateFlagsDirty=!1)}},{key:"updateHoveredNodeTracking",value:function(e,t,r){var i;if(t.isHovered!==r.isHovered)if(r.isHovered){var o;if(((o=this.hovered)===null||o===void 0?void 0:o.kind)==="node"&&this.hovered.key!==e){var s=this.hovered.key,l=this.getNodeState(s);this.nodeStates.set(s,W(W({},l),{},{isHovered:!1})),this.dirtyNodes.add(s)}this.hovered={kind:"node",key:e}}else((i=this.hovered)===null||i===void 0?void 0:i.kind)==="node"&&this.hovered.key===e&&(this.hovered=null)}},{key:"updateHoveredEdgeTracking",value:function(e,t,r){var i;if(t.isHovered!==r.isHovered)if(r.isHovered){var o;if(((o=this.hovered)===null||o===void 0?void 0:o.kind)==="edge"&&this.hovered.key!==e){var s=this.hovered.key,l=this.getEdgeState(s);this.edgeStates.set(s,W(W({},l),{},{isHovered:!1})),this.dirtyEdges.add(s)}this.hovered={kind:"edge",key:e}}else((i=this.hovered)===null||i===void 0?void 0:i.kind)==="edge"&&this.hovered.key===e&&(this.hovered=null)}}])})(),sl=1,ll=2,dl=3,ul=4,pg=(function(a){function n(e,t){var r,i,o,s,l,d=arguments.length>2&&arguments[2]!==void 0?arguments[2]:{};J(this,n),l=ce(this,n),w(l,"nodeReducer",null),w(l,"edgeReducer",null),w(l,"stageCanvas",null),w(l,"mouseLayer",null),w(l,"gestureHint",null),w(l,"extraElements",{}),w(l,"webGLContext",null),w(l,"pickingFrameBuffer",null),w(l,"pickingTexture",null),w(l,"pickingDepthBuffer",null),w(l,"activeListeners",{}),w(l,"nodeVariableEntries",[]),w(l,"edgeVariableEntries",[]),w(l,"edgePathsByName",new Map),w(l,"nodeProgramIndex",{}),w(l,"edgeProgramIndex",{}),w(l,"edgeTextureIndexCache",{}),w(l,"nodeGraphCoords",{}),w(l,"nodeExtent",{x:[0,1],y:[0,1]}),w(l,"matrix",Ne()),w(l,"invMatrix",Ne()),w(l,"correctionRatio",1),w(l,"frameId",0),w(l,"customBBox",null),w(l,"gpuTimerExt",void 0),w(l,"activeGpuTimerQuery",null),w(l,"pendingGpuTimerQueries",[]),w(l,"normalizationFunction",ca({x:[0,1],y:[0,1]})),w(l,"graphToViewportRatio",1),w(l,"pickingState",Hf()),w(l,"prevNodeVisibilities",{}),w(l,"width",0),w(l,"height",0),w(l,"autoRescaleFrozen",!1),w(l,"stylesDeclaration",null),w(l,"resolvedStageStyle",{}),w(l,"renderFrame",null),w(l,"contextLost",!1),w(l,"pendingProcess","full"),w(l,"needToRefreshState",!1),w(l,"checkEdgesEventsFrame",null),w(l,"edgeStyleAnalysis",{dependency:"static",xAttribute:null,yAttribute:null}),w(l,"depthLayers",X(ra)),w(l,"customLayerPrograms",new Map),w(l,"nodeShapeSlug",null),w(l,"sdfAtlas",null),w(l,"depthRanges",{nodes:{},edges:{}}),w(l,"nodeBaseDepth",{}),w(l,"edgeBaseDepth",{});var u=d.primitives,f=d.styles,g=d.settings,h=g===void 0?{}:g,p=d.nodeReducer,y=d.edgeReducer,m=d.customNodeState,v=d.customEdgeState,b=d.customGraphState;l.stateManager=new gg(function(){return l.scheduleStateRefresh()},m,v,b);var _=u??Qo;l.stylesDeclaration=f?{nodes:(r=f.nodes)!==null&&r!==void 0?r:sa.nodes,edges:(i=f.edges)!==null&&i!==void 0?i:sa.edges,stage:f.stage}:sa,l.nodeReducer=p??null,l.edgeReducer=y??null;var x=xr(l.stylesDeclaration.nodes);l.nodeReducer&&(x.dependency="graph-state"),l.edgeStyleAnalysis=xr(l.stylesDeclaration.edges),l.edgeReducer&&(l.edgeStyleAnalysis.dependency="graph-state"),l.stylesDeclaration.stage&&(l.resolvedStageStyle=Ar(l.stylesDeclaration.stage,l.stateManager.graphState));var T=is(h);if(fa(T),T.enableNodeDrag){var S=x.xAttribute,A=x.yAttribute;if((!S||!A)&&!T.dragPositionToAttributes)throw new Error('Sigma: `enableNodeDrag` is true but position attribute names could not be inferred from styles. Either use attribute bindings for x/y in your node styles (e.g. `x: { attribute: "x" }`), or provide a `dragPositionToAttributes` setting.')}if(rs(e),!(t instanceof HTMLElement))throw new Error("Sigma: container should be an html element.");l.container=t,l.edgeGroups=new Uf(e,function(I,P){for(var z=0;z<I.length;z++){var V=l.stateManager.getEdgeState(I[z]);V.parallelIndex=z,V.parallelCount=P}});var E=new Bf(e,l.viewportToGraph.bind(l),l.setNodesState.bind(l),function(I,P){return l.emit(I,P)});if(l.depthLayers=(o=_.depthLayers)!==null&&o!==void 0?o:X(ra),!(f!=null&&f.nodes)&&!na.every(function(I){return l.depthLayers.includes(I)}))throw new Error("Sigma: depthLayers must include ".concat(na.join(", ")," for the built-in node styles."));if(!(f!=null&&f.edges)&&!aa.every(function(I){return l.depthLayers.includes(I)}))throw new Error("Sigma: depthLayers must include ".concat(aa.join(", ")," for the built-in edge styles."));l.itemBuckets={nodes:new qr(l.depthLayers),edges:new qr(l.depthLayers)},l.initWebGLContext(),l.mouseLayer=zt("div",{position:"absolute",touchAction:"none",userSelect:"none"},{class:"sigma-mouse"}),l.container.appendChild(l.mouseLayer),l.resolvedStageStyle.background&&(l.container.style.backgroundColor=l.resolvedStageStyle.background),l.resolvedStageStyle.cursor&&(l.container.style.cursor=l.resolvedStageStyle.cursor);var k=new js(l.webGLContext),D=new Kr(l.webGLContext,{channels:1}),C=new Xs(l.webGLContext),R=new Kr(l.webGLContext,{channels:4}),F=l.webGLContext,L=new lg({gl:F,getFrameBuffer:function(){return l.pickingFrameBuffer},getPixelRatio:function(){return l.internals.pixelRatio},getDownSizingRatio:function(){return l.internals.settings.pickingDownSizingRatio},isRenderPending:function(){return l.renderFrame!==null},onIndex:function(P,z){var V;return gl(l.internals,(V=l.pickingState.lookup[P])!==null&&V!==void 0?V:null,z)}}),M=l.initPrograms(_,T),G=_==null||(s=_.nodes)===null||s===void 0?void 0:s.labelAttachments,N=null;return G&&Object.keys(G).length>0&&(N=new Vs(F,G,function(){return l.scheduleRender()})),l.internals=W(W({nodeDataCache:{},edgeDataCache:{},nodesWithForcedLabels:new Set,nodesWithBackdrop:new Set,edgesWithForcedLabels:new Set,settings:T,primitives:_,pixelRatio:gn(),graph:e,stateManager:l.stateManager,dragManager:E,hoverResolver:L,nodeStyleAnalysis:x,pickingState:l.pickingState},M),{},{attachmentManager:N,nodeDataTexture:k,nodeFrameTexture:D,edgeDataTexture:C,edgeFrameTexture:R,getDimensions:function(){return l.getDimensions()},getGraphDimensions:function(){return l.getGraphDimensions()},getStagePadding:function(){return l.getStagePadding()},getCameraState:function(){return l.camera.getState()},getHitAtPosition:function(P){return l.getHitAtPosition(P)},setNodeState:function(P,z){return l.setNodeState(P,z)},setEdgeState:function(P,z){return l.setEdgeState(P,z)},updateContainerCursor:function(){return l.updateContainerCursor()},scheduleRefresh:function(){return l.scheduleRefresh()},viewportToFramedGraph:function(P){return l.viewportToFramedGraph(P)},viewportToGraph:function(P){return l.viewportToGraph(P)},framedGraphToViewport:function(P){return l.framedGraphToViewport(P)},scaleSize:function(P){return l.scaleSize(P)},emit:function(P,z){return l.emit(P,z)}}),l.labelRenderer=new fg(l.internals),l.resize(),l.initializeWebGLLabels(),l.camera=new Ys,l.bindCameraHandlers(),l.mouseCaptor=new Gf(l.mouseLayer,l),l.mouseCaptor.setSettings(l.internals.settings),l.touchCaptor=new Wf(l.mouseLayer,l),l.touchCaptor.setSettings(l.internals.settings),l.bindEventHandlers(),l.bindGraphHandlers(),l.handleSettingsUpdate(),l.refresh(),l}return he(n,a),ee(n,[{key:"initializeWebGLLabels",value:function(){this.sdfAtlas=new bt,this.sdfAtlas.registerFont({family:"sans-serif",weight:"normal",style:"normal"})}},{key:"resetWebGLTexture",value:function(){var t=this.webGLContext;if(!this.pickingFrameBuffer)return this;var r=Math.ceil(this.width*this.internals.pixelRatio/this.internals.settings.pickingDownSizingRatio),i=Math.ceil(this.height*this.internals.pixelRatio/this.internals.settings.pickingDownSizingRatio);t.bindFramebuffer(t.FRAMEBUFFER,this.pickingFrameBuffer),this.pickingTexture&&t.deleteTexture(this.pickingTexture);var o=t.createTexture();o&&(t.bindTexture(t.TEXTURE_2D,o),t.texImage2D(t.TEXTURE_2D,0,t.RGBA,r,i,0,t.RGBA,t.UNSIGNED_BYTE,null),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_MIN_FILTER,t.NEAREST),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_MAG_FILTER,t.NEAREST),t.framebufferTexture2D(t.FRAMEBUFFER,t.COLOR_ATTACHMENT0,t.TEXTURE_2D,o,0),this.pickingTexture=o),this.pickingDepthBuffer&&t.deleteRenderbuffer(this.pickingDepthBuffer);var s=t.createRenderbuffer();return s&&(t.bindRenderbuffer(t.RENDERBUFFER,s),t.renderbufferStorage(t.RENDERBUFFER,t.DEPTH_COMPONENT16,r,i),t.framebufferRenderbuffer(t.FRAMEBUFFER,t.DEPTH_ATTACHMENT,t.RENDERBUFFER,s),this.pickingDepthBuffer=s),t.bindFramebuffer(t.FRAMEBUFFER,null),this}},{key:"bindCameraHandlers",value:function(){var t=this;return this.activeListeners.camera=function(){t.refreshMatrices(),t.labelRenderer.labelsDirty=!0,t.scheduleRender()},this.activeListeners.cameraAnimationStart=function(r){var i=r.from,o=r.to;i.ratio!==o.ratio&&t.stateManager.setGraphState({isZooming:!0})},this.activeListeners.cameraAnimationEnd=function(){t.stateManager.setGraphState({isZooming:!1})},this.camera.on("updated",this.activeListeners.camera),this.camera.on("animationStart",this.activeListeners.cameraAnimationStart),this.camera.on("animationEnd",this.activeListeners.cameraAnimationEnd),this}},{key:"unbindCameraHandlers",value:function(){return this.camera.removeListener("updated",this.activeListeners.camera),this.camera.removeListener("animationStart",this.activeListeners.cameraAnimationStart),this.camera.removeListener("animationEnd",this.activeListeners.cameraAnimationEnd),this}},{key:"getHitAtPosition",value:function(t){var r;if(this.contextLost)return null;var i=this.webGLContext;i.bindFramebuffer(i.FRAMEBUFFER,this.pickingFrameBuffer);var o=Po(i,this.pickingFrameBuffer,t.x,t.y,this.internals.pixelRatio,this.internals.settings.pickingDownSizingRatio),s=fr.apply(void 0,X(o));return(r=this.pickingState.lookup[s])!==null&&r!==void 0?r:null}},{key:"bindEventHandlers",value:function(){return Yf(this.internals,this.mouseCaptor,this.touchCaptor,this.activeListeners),this}},{key:"bindGraphHandlers",value:function(){return Zf({graph:this.internals.graph,edgeGroups:this.edgeGroups,addNode:this.addNode.bind(this),updateNode:this.updateNode.bind(this),removeNode:this.removeNode.bind(this),addEdge:this.addEdge.bind(this),updateEdge:this.updateEdge.bind(this),removeEdge:this.removeEdge.bind(this),clearEdgeState:this.clearEdgeState.bind(this),clearNodeState:this.clearNodeState.bind(this),clearEdgeIndices:this.clearEdgeIndices.bind(this),clearNodeIndices:this.clearNodeIndices.bind(this),refresh:this.refresh.bind(this)},this.activeListeners),this}},{key:"unbindGraphHandlers",value:function(){Qf(this.internals.graph,this.activeListeners)}},{key:"getNodeShapeId",value:function(t){return this.internals.nodeShapeMap&&this.internals.nodeGlobalShapeIds&&t.shape&&t.shape in this.internals.nodeShapeMap?this.internals.nodeGlobalShapeIds[this.internals.nodeShapeMap[t.shape]]:yn(t.shape||"circle")}},{key:"processNodes",value:function(){var t=this,r=this.internals.graph,i=this.internals.settings,o=this.getDimensions(),s=i.autoRescale,l=i.autoRescaleContent,d=this.nodeExtent;if(s===!1){var u=o.width,f=o.height;d={x:[-u/2,u/2],y:[-f/2,f/2]}}else(s!=="once"||!this.autoRescaleFrozen)&&(d=this.computeNodeExtent(),l!=="positions"&&!this.customBBox&&(d=ng({extent:d,coords:this.nodeGraphCoords,nodeData:this.internals.nodeDataCache,dimensions:o,stagePadding:this.getStagePadding(),zoomToSizeRatioFunction:i.zoomToSizeRatioFunction,itemSizesReference:i.itemSizesReference,fitLabels:l==="labels",nodeLabelBox:function(V,j){return t.labelRenderer.nodeLabelBox(V,j)}})),s==="once"&&(this.autoRescaleFrozen=!0));this.nodeExtent=d,this.normalizationFunction=ca(this.customBBox||this.nodeExtent);var g=new Ys,h=at(g.getState(),o,this.getGraphDimensions(),this.getStagePadding());this.labelRenderer.labelGrid.resizeAndClear(o,i.labelGridCellSize),this.labelRenderer.edgeAnchorGrid.resizeAndClear(o,i.labelGridCellSize);var p=i.renderEdgeLabels&&i.edgeLabelAnchors==="allNodes",y=!1;Zr(this.pickingState,"node");for(var m=r.nodes(),v=0,b=m.length;v<b;v++){var _=m[v],x=this.internals.nodeDataCache[_],T=this.nodeGraphCoords[_];x.x=T.x,x.y=T.y,this.normalizationFunction.applyTo(x),x.visibility!==this.prevNodeVisibilities[_]&&(y=!0),typeof x.label=="string"&&x.visibility!=="hidden"&&x.labelVisibility!=="hidden"&&this.labelRenderer.labelGrid.add(_,x.size,this.framedGraphToViewport(x,{matrix:h})),p&&x.visibility!=="hidden"&&this.labelRenderer.edgeAnchorGrid.add(_,x.size,this.framedGraphToViewport(x,{matrix:h}))}this.labelRenderer.labelGrid.organize(),this.labelRenderer.edgeAnchorGrid.organize(),this.nodeProgram.reallocate(m.length);var S=0;this.depthRanges.nodes={},this.nodeBaseDepth={};var A=this.internals.nodeDataCache,E=O(this.depthLayers),k;try{for(E.s();!(k=E.n()).done;){var D=k.value,C=this.itemBuckets.nodes.getSorted(D,function(z){return A[z].zIndex});if(C.length!==0){this.depthRanges.nodes[D]=[{offset:S,count:C.length}];var R=O(C),F;try{for(R.s();!(F=R.n()).done;){var L=F.value;this.nodeBaseDepth[L]=D,this.nodeProgram.allocateNode(L),tl(this.pickingState,"node",L),this.addNodeToProgram(L,S++)}}catch(z){R.e(z)}finally{R.f()}}}}catch(z){E.e(z)}finally{E.f()}this.nodeProgram.invalidateBuffers();for(var M=0,G=m.length;M<G;M++)this.prevNodeVisibilities[m[M]]=this.internals.nodeDataCache[m[M]].visibility;this.labelRenderer.processWebGLLabels(m);var N=O(this.customLayerPrograms.values()),I;try{for(N.s();!(I=N.n()).done;){var P=I.value.program;P.cacheData&&P.cacheData()}}catch(z){N.e(z)}finally{N.f()}return y}},{key:"processEdges",value:function(){var t=this.internals.graph,r=t.edges();this.edgeProgram.reallocate(r.length);var i=0;Zr(this.pickingState,"edge"),this.depthRanges.edges={},this.edgeBaseDepth={};var o=this.internals.edgeDataCache,s=O(this.depthLayers),l;try{for(s.s();!(l=s.n()).done;){var d=l.value,u=this.itemBuckets.edges.getSorted(d,function(p){return o[p].zIndex});if(u.length!==0){this.depthRanges.edges[d]=[{offset:i,count:u.length}];var f=O(u),g;try{for(f.s();!(g=f.n()).done;){var h=g.value;this.edgeBaseDepth[h]=d,tl(this.pickingState,"edge",h),this.addEdgeToProgram(h,i++)}}catch(p){f.e(p)}finally{f.f()}}}}catch(p){s.e(p)}finally{s.f()}this.edgeProgram.invalidateBuffers()}},{key:"updateNodeDepthRanges",value:function(t,r,i){var o=this.nodeProgramIndex[t];o!==void 0&&(Lr(this.depthRanges.nodes,r,o),Cr(this.depthRanges.nodes,i,o))}},{key:"updateEdgeDepthRanges",value:function(t,r,i){var o=this.edgeProgramIndex[t];o!==void 0&&(Lr(this.depthRanges.edges,r,o),Cr(this.depthRanges.edges,i,o))}},{key:"handleSettingsUpdate",value:function(){var t=this,r=this.internals.settings;return this.camera.minRatio=r.minCameraRatio,this.camera.maxRatio=r.maxCameraRatio,this.camera.enabledZooming=r.enableCameraZooming,this.camera.enabledPanning=r.enableCameraPanning,this.camera.enabledRotation=r.enableCameraRotation,r.cameraPanBoundaries?this.camera.constrainState=function(i){return t.cleanCameraState(i,r.cameraPanBoundaries&&te(r.cameraPanBoundaries)==="object"?r.cameraPanBoundaries:{})}:this.camera.constrainState=null,this.camera.setState(this.camera.getState()),this.mouseLayer.style.touchAction=r.gestureTarget==="graph"?"none":r.gestureTarget==="shared"?"pan-x pan-y":"auto",r.gestureTarget!=="shared"&&this.gestureHint&&(this.gestureHint.kill(),this.gestureHint=null),this.mouseCaptor.setSettings(this.internals.settings),this.touchCaptor.setSettings(this.internals.settings),this}},{key:"cleanCameraState",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{},i=r.tolerance,o=i===void 0?0:i,s=r.boundaries,l=W({},t),d=s||this.nodeExtent,u=ne(d.x,2),f=u[0],g=u[1],h=ne(d.y,2),p=h[0],y=h[1],m=[this.graphToViewport({x:f,y:p},{cameraState:t}),this.graphToViewport({x:g,y:p},{cameraState:t}),this.graphToViewport({x:f,y},{cameraState:t}),this.graphToViewport({x:g,y},{cameraState:t})],v=1/0,b=-1/0,_=1/0,x=-1/0;m.forEach(function(L){var M=L.x,G=L.y;v=Math.min(v,M),b=Math.max(b,M),_=Math.min(_,G),x=Math.max(x,G)});var T=b-v,S=x-_,A=this.getDimensions(),E=A.width,k=A.height,D=0,C=0;if(T>=E?b<E-o?D=b-(E-o):v>o&&(D=v-o):b>E+o?D=b-(E+o):v<-o&&(D=v+o),S>=k?x<k-o?C=x-(k-o):_>o&&(C=_-o):x>k+o?C=x-(k+o):_<-o&&(C=_+o),D||C){var R=this.viewportToFramedGraph({x:0,y:0},{cameraState:t}),F=this.viewportToFramedGraph({x:D,y:C},{cameraState:t});D=F.x-R.x,C=F.y-R.y,l.x+=D,l.y+=C}return l}},{key:"refreshMatrices",value:function(){var t=this.camera.getState(),r=this.getDimensions(),i=this.getGraphDimensions(),o=this.getStagePadding();this.matrix=at(t,r,i,o),this.invMatrix=at(t,r,i,o,!0),this.correctionRatio=Do(this.matrix,t,r),this.graphToViewportRatio=this.getGraphToViewportRatio()}},{key:"processData",value:function(){var t;this.emit("beforeProcess"),(t=this.internals.attachmentManager)===null||t===void 0||t.clear();var r=W({},this.pickingState.idsByKind),i=this.processNodes();(this.pendingProcess==="full"||i)&&this.processEdges(),$f(this.pickingState,this.internals),Vf(r,this.pickingState.idsByKind)||this.internals.hoverResolver.invalidate(),this.pendingProcess="none",this.emit("afterProcess")}},{key:"render",value:function(){var t=this;if(this.contextLost)return this;this.emit("beforeRender");var r=function(){return t.internals.hoverResolver.frameRendered(),t.emit("afterRender"),t};if(this.renderFrame&&(cancelAnimationFrame(this.renderFrame),this.renderFrame=null),this.resize(),(this.pendingProcess!=="none"||this.needToRefreshState)&&(this.labelRenderer.labelsDirty=!0),this.pendingProcess!=="none"&&this.processData(),this.needToRefreshState&&this.refreshState(),this.needToRefreshState=!1,this.stateManager.clearDirtyTracking(),this.pendingProcess!=="none"&&this.processData(),this.clear(),this.resetWebGLTexture(),!this.internals.graph.order)return r();var i=this.mouseCaptor,o=this.camera.isAnimating()||i.isMoving||i.draggedEvents||i.currentWheelDirection;if(this.refreshMatrices(),this.frameId++,this.internals.settings.renderEdgeLabels&&!this.internals.edgeLabelProgram){var s=this.createEdgeLabelPrograms(),l=s.labelProgram,d=s.labelBackgroundProgram;this.internals.edgeLabelProgram=l,this.internals.edgeLabelBackgroundProgram=d}var u=this.internals.settings.DEBUG_logRenderStats?this.getDebugPrograms():null;u&&u.forEach(function(Y){return Y.resetDebugStats()}),this.internals.settings.DEBUG_gpuTimerQueries&&this.beginGpuTimerQuery(),this.internals.nodeFrameTexture.ensureCapacity(this.internals.nodeDataTexture.getCapacity()),this.internals.edgeFrameTexture.ensureCapacity(this.internals.edgeDataTexture.getCapacity());var f=this.getRenderParams(),g=Se.edge.writesPickingThisFrame(this.internals)?f:W(W({},f),{},{pickingFrameBuffer:null});this.labelRenderer.resetFrame();var h=this.webGLContext,p=Math.ceil(this.width*this.internals.pixelRatio/this.internals.settings.pickingDownSizingRatio),y=Math.ceil(this.height*this.internals.pixelRatio/this.internals.settings.pickingDownSizingRatio);if(h.bindFramebuffer(h.FRAMEBUFFER,this.pickingFrameBuffer),h.viewport(0,0,p,y),h.clear(h.COLOR_BUFFER_BIT|h.DEPTH_BUFFER_BIT),h.bindFramebuffer(h.FRAMEBUFFER,null),h.viewport(0,0,this.width*this.internals.pixelRatio,this.height*this.internals.pixelRatio),h.clear(h.COLOR_BUFFER_BIT|h.DEPTH_BUFFER_BIT),this.internals.nodeDataTexture.upload(),this.internals.edgeDataTexture.upload(),this.nodeProgram.uploadLayerTexture(),this.edgeProgram.uploadAttributeTexture(),this.emit("afterTexturesUpload"),this.internals.nodeDataTexture.bind(dl),this.internals.edgeDataTexture.bind(ul),this.edgeFramePass.run(f,this.internals.edgeFrameTexture,this.internals.edgeDataTexture.getHighWaterMark(),this.edgeProgram.getAttributeTexture(),this.nodeProgram.getAttributeTexture()),this.internals.edgeFrameTexture.bind(sl),this.internals.settings.renderLabels){this.labelRenderer.computeDisplayedNodeLabels();var m=this.labelRenderer.buildFramePassPoints(),v=m.data,b=m.count;this.nodeFramePass.run(v,b,this.internals.nodeFrameTexture,f,this.nodeProgram.getAttributeTexture()),this.internals.nodeFrameTexture.bind(ll)}this.internals.settings.renderEdgeLabels&&this.labelRenderer.computeDisplayedEdgeLabels();var _=O(this.customLayerPrograms.values()),x;try{for(_.s();!(x=_.n()).done;){var T=x.value.program;T.preRender&&T.preRender(f)}}catch(Y){_.e(Y)}finally{_.f()}h.bindFramebuffer(h.FRAMEBUFFER,null),h.viewport(0,0,this.width*this.internals.pixelRatio,this.height*this.internals.pixelRatio),h.blendFunc(h.ONE,h.ONE_MINUS_SRC_ALPHA);var S=!this.internals.settings.hideLabelsOnMove||!o,A=O(this.depthLayers),E;try{for(A.s();!(E=A.n()).done;){var k=E.value,D=O(this.customLayerPrograms.values()),C;try{for(D.s();!(C=D.n()).done;){var R=C.value;R.depth===k&&R.program.render(f)}}catch(Y){D.e(Y)}finally{D.f()}var F=this.depthRanges.edges[k];if(F&&(!this.internals.settings.hideEdgesOnMove||!o)){var L=O(F),M;try{for(L.s();!(M=L.n()).done;){var G=M.value,N=G.offset,I=G.count;I>0&&this.edgeProgram.render(g,N,I)}}catch(Y){L.e(Y)}finally{L.f()}}this.internals.settings.renderEdgeLabels&&S&&(this.labelRenderer.renderEdgeLabelBackgrounds(Se.edgeLabel.writesPickingThisFrame(this.internals)?f:W(W({},f),{},{pickingFrameBuffer:null}),k),this.labelRenderer.renderEdgeLabels(f,k)),this.labelRenderer.cacheAttachments(k),this.labelRenderer.renderBackdrops(W(W({},f),{},{pickingFrameBuffer:null}),k);var P=this.depthRanges.nodes[k];if(P){var z=O(P),V;try{for(z.s();!(V=z.n()).done;){var j=V.value,Q=j.offset,q=j.count;q>0&&this.nodeProgram.render(f,Q,q)}}catch(Y){z.e(Y)}finally{z.f()}}S&&(this.labelRenderer.renderAttachments(W(W({},f),{},{pickingFrameBuffer:null}),k),this.labelRenderer.renderLabelBackgrounds(Se.nodeLabel.writesPickingThisFrame(this.internals)?f:W(W({},f),{},{pickingFrameBuffer:null}),k),this.internals.settings.renderLabels&&this.labelRenderer.renderWebGLLabels(f,k))}}catch(Y){A.e(Y)}finally{A.f()}return this.labelRenderer.labelsDirty=!1,this.internals.settings.DEBUG_displayPickingLayer&&(h.bindFramebuffer(h.READ_FRAMEBUFFER,this.pickingFrameBuffer),h.bindFramebuffer(h.DRAW_FRAMEBUFFER,null),h.blitFramebuffer(0,0,p,y,0,0,this.width*this.internals.pixelRatio,this.height*this.internals.pixelRatio,h.COLOR_BUFFER_BIT,h.NEAREST)),this.internals.settings.DEBUG_gpuTimerQueries&&this.endGpuTimerQuery(),this.pollGpuTimerQueries(),u&&this.logRenderStats(u),r()}},{key:"getDebugPrograms",value:function(){return[this.nodeProgram,this.edgeProgram,this.internals.labelProgram,this.internals.edgeLabelProgram,this.internals.edgeLabelBackgroundProgram,this.internals.backdropProgram,this.internals.labelBackgroundProgram,this.internals.attachmentProgram].filter(function(t){return t!==null})}},{key:"logRenderStats",value:function(t){var r={},i=O(t),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;r[s.constructor.name]=W({},s.debugStats)}}catch(l){i.e(l)}finally{i.f()}console.log("[sigma] DEBUG_logRenderStats: frame #".concat(this.frameId)),console.table(r)}},{key:"getGpuTimerExtension",value:function(){return this.gpuTimerExt===void 0&&(this.gpuTimerExt=this.webGLContext.getExtension("EXT_disjoint_timer_query_webgl2"),this.gpuTimerExt||console.warn("Sigma: DEBUG_gpuTimerQueries is enabled, but this browser/driver doesn't support EXT_disjoint_timer_query_webgl2.")),this.gpuTimerExt}},{key:"beginGpuTimerQuery",value:function(){var t=this.getGpuTimerExtension();if(t){var r=this.webGLContext,i=r.createQuery();i&&(r.beginQuery(t.TIME_ELAPSED_EXT,i),this.activeGpuTimerQuery=i)}}},{key:"endGpuTimerQuery",value:function(){!this.gpuTimerExt||!this.activeGpuTimerQuery||(this.webGLContext.endQuery(this.gpuTimerExt.TIME_ELAPSED_EXT),this.pendingGpuTimerQueries.push({query:this.activeGpuTimerQuery,frameId:this.frameId}),this.activeGpuTimerQuery=null)}},{key:"pollGpuTimerQueries",value:function(){if(this.pendingGpuTimerQueries.length!==0){var t=this.webGLContext,r=this.gpuTimerExt;if(!r){this.pendingGpuTimerQueries.forEach(function(f){var g=f.query;return t.deleteQuery(g)}),this.pendingGpuTimerQueries=[];return}var i=t.getParameter(r.GPU_DISJOINT_EXT),o=[],s=O(this.pendingGpuTimerQueries),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;if(!t.getQueryParameter(d.query,t.QUERY_RESULT_AVAILABLE)){o.push(d);continue}if(!i){var u=t.getQueryParameter(d.query,t.QUERY_RESULT);console.log("[sigma] DEBUG_gpuTimerQueries: frame #".concat(d.frameId," GPU time = ").concat((u/1e6).toFixed(2),"ms"))}t.deleteQuery(d.query)}}catch(f){s.e(f)}finally{s.f()}this.pendingGpuTimerQueries=o}}},{key:"postEvaluateNode",value:function(t,r,i){var o=t;o.x===void 0&&(o.x=r.x),o.y===void 0&&(o.y=r.y),t.highlighted=i.isHighlighted;for(var s=0,l=this.nodeVariableEntries.length;s<l;s++){var d,u,f=ne(this.nodeVariableEntries[s],2),g=f[0],h=f[1];o[g]=(d=(u=o[g])!==null&&u!==void 0?u:r[g])!==null&&d!==void 0?d:h.default}}},{key:"addNode",value:function(t){var r=this.internals.graph.getNodeAttributes(t),i=this.stateManager.getNodeState(t),o=this.internals.nodeDataCache[t]||{};if(Er(this.stylesDeclaration.nodes,r,i,this.stateManager.graphState,this.internals.graph,o),this.postEvaluateNode(o,r,i),this.nodeReducer){var s=this.nodeReducer(t,o,r,i,this.stateManager.graphState,this.internals.graph);o=W(W({},o),s)}if(typeof o.x!="number"||typeof o.y!="number")throw new Error('Sigma: could not find a valid position (x, y) for node "'.concat(t,'". ')+"Provide coordinates via node attributes, styles, or a nodeReducer.");this.internals.nodeShapeMap?(!o.shape||!(o.shape in this.internals.nodeShapeMap))&&(o.shape=Object.keys(this.internals.nodeShapeMap)[0]):this.nodeShapeSlug&&(o.shape=this.nodeShapeSlug),this.internals.nodeDataCache[t]=o,this.nodeGraphCoords[t]={x:o.x,y:o.y},mt(this.internals.nodesWithForcedLabels,t,it(o)),mt(this.internals.nodesWithBackdrop,t,kr(o)),this.itemBuckets.nodes.set(t,o.depth)}},{key:"updateNode",value:function(t){this.addNode(t);var r=this.internals.nodeDataCache[t];this.normalizationFunction.applyTo(r)}},{key:"removeNode",value:function(t){this.itemBuckets.nodes.remove(t),delete this.internals.nodeDataCache[t],delete this.nodeGraphCoords[t],delete this.nodeProgramIndex[t],this.internals.dragManager.removeNode(t),this.stateManager.removeNode(t),this.internals.nodesWithForcedLabels.delete(t),this.internals.nodesWithBackdrop.delete(t)}},{key:"postEvaluateEdge",value:function(t,r){for(var i=t,o=0,s=this.edgeVariableEntries.length;o<s;o++){var l,d,u=ne(this.edgeVariableEntries[o],2),f=u[0],g=u[1];i[f]=(l=(d=i[f])!==null&&d!==void 0?d:r[f])!==null&&l!==void 0?l:g.default}}},{key:"applyEdgeSpread",value:function(t,r,i){var o;if(!(i.parallelCount<=1)){var s=this.internals.graph.source(t),l=this.internals.graph.target(t),d=s===l,u=d?r.selfLoopPath||r.path:r.parallelPath||r.path,f=u?this.edgePathsByName.get(u):void 0;if(f!=null&&f.spread){var g=(o=r.parallelSpread)!==null&&o!==void 0?o:.25,h=f.spread.compute(i.parallelIndex,i.parallelCount,g);!d&&this.internals.graph.isDirected(t)&&s>l&&(h=-h),r[f.spread.variable]=h}}}},{key:"addEdge",value:function(t){var r=this.internals.graph.getEdgeAttributes(t),i=this.stateManager.getEdgeState(t),o={};if(wr(this.stylesDeclaration.edges,r,i,this.stateManager.graphState,this.internals.graph,o),this.postEvaluateEdge(o,r),this.edgeReducer){var s=this.edgeReducer(t,o,r,i,this.stateManager.graphState,this.internals.graph);o=W(W({},o),s)}this.applyEdgeSpread(t,o,i),this.internals.edgeDataCache[t]=o,mt(this.internals.edgesWithForcedLabels,t,it(o)),this.itemBuckets.edges.set(t,o.depth)}},{key:"updateEdge",value:function(t){this.addEdge(t)}},{key:"removeEdge",value:function(t){this.itemBuckets.edges.remove(t),delete this.internals.edgeDataCache[t],delete this.edgeProgramIndex[t],delete this.edgeTextureIndexCache[t],this.internals.edgeDataTexture.free(t),this.stateManager.removeEdge(t),this.internals.edgesWithForcedLabels.delete(t)}},{key:"clearNodeIndices",value:function(){this.labelRenderer.resetLabelGrid(),this.autoRescaleFrozen||(this.nodeExtent={x:[0,1],y:[0,1]}),this.internals.nodeDataCache={},this.nodeGraphCoords={},this.edgeProgramIndex={},this.internals.nodesWithForcedLabels.clear(),this.internals.nodesWithBackdrop.clear(),this.prevNodeVisibilities={},this.itemBuckets.nodes.clearAll(),this.depthRanges.nodes={},this.nodeBaseDepth={}}},{key:"clearEdgeIndices",value:function(){this.internals.edgeDataCache={},this.edgeProgramIndex={},this.edgeTextureIndexCache={},this.internals.edgesWithForcedLabels.clear(),Zr(this.pickingState,"edge"),this.itemBuckets.edges.clearAll(),this.depthRanges.edges={},this.edgeBaseDepth={},this.edgeGroups.clear()}},{key:"clearIndices",value:function(){this.clearEdgeIndices(),this.clearNodeIndices()}},{key:"clearNodeState",value:function(){this.labelRenderer.resetFrame(),this.internals.nodesWithBackdrop.clear(),this.internals.dragManager.clear(),this.autoRescaleFrozen=!1,this.stateManager.clearNodes()}},{key:"clearEdgeState",value:function(){this.labelRenderer.clearEdgeLabels(),this.stateManager.clearEdges()}},{key:"clearState",value:function(){this.clearEdgeState(),this.clearNodeState(),this.stateManager.resetGraphState()}},{key:"addNodeToProgram",value:function(t,r){var i,o=this.internals.nodeDataCache[t];this.internals.nodeDataTexture.allocate(t),(i=this.internals.nodeDataTexture).updateNode.apply(i,[t,o.x,o.y,o.size,this.getNodeShapeId(o)].concat(X(ua(o)),[o.color]));var s=this.internals.nodeDataTexture.getIndex(t);this.nodeProgram.process(St(this.pickingState,"node",t),r,o,s,t),this.nodeProgramIndex[t]=r}},{key:"addEdgeToProgram",value:function(t,r){var i,o,s=this.internals.edgeDataCache[t],l=this.internals.graph.source(t),d=this.internals.graph.target(t),u=this.internals.edgeDataTexture.allocate(t);this.edgeTextureIndexCache[t]=u;var f=l===d,g=!f&&((i=(o=this.stateManager.getEdgeState(t))===null||o===void 0?void 0:o.parallelCount)!==null&&i!==void 0?i:1)>1,h=this.edgeProgram.resolveEdgeIds(s,f,g),p=h.pathId,y=h.headId,m=h.tailId,v=h.headLengthRatio,b=h.tailLengthRatio;this.internals.edgeDataTexture.updateEdge(t,this.internals.nodeDataTexture.getIndex(l),this.internals.nodeDataTexture.getIndex(d),s.size,v,b,p,y,m),this.edgeProgram.process(St(this.pickingState,"edge",t),r,this.internals.nodeDataCache[l],this.internals.nodeDataCache[d],s,u),this.edgeProgramIndex[t]=r}},{key:"getRenderParams",value:function(){return{frameId:this.frameId,matrix:this.matrix,invMatrix:this.invMatrix,width:this.width,height:this.height,pixelRatio:this.internals.pixelRatio,zoomRatio:this.camera.ratio,cameraAngle:this.camera.angle,sizeRatio:1/this.scaleSize(),correctionRatio:this.correctionRatio,downSizingRatio:this.internals.settings.pickingDownSizingRatio,minEdgeThickness:this.internals.settings.minEdgeThickness,antiAliasingFeather:this.internals.settings.antiAliasingFeather,nodePickingPadding:this.internals.settings.nodePickingPadding,edgePickingPadding:this.internals.settings.edgePickingPadding,labelPickingPadding:this.internals.settings.labelPickingPadding,nodeDataTextureUnit:dl,nodeDataTextureWidth:this.internals.nodeDataTexture.getTextureWidth(),nodeFrameTextureUnit:ll,nodeFrameTextureWidth:this.internals.nodeFrameTexture.getTextureWidth(),edgeDataTextureUnit:ul,edgeDataTextureWidth:this.internals.edgeDataTexture.getTextureWidth(),edgeFrameTextureUnit:sl,edgeFrameTextureWidth:this.internals.edgeFrameTexture.getTextureWidth(),pickingFrameBuffer:this.pickingFrameBuffer,labelPixelSnapping:this.internals.settings.labelPixelSnapping?1:0}}},{key:"getStagePadding",value:function(){var t=this.internals.settings,r=t.stagePadding,i=t.autoRescale;return i&&r||0}},{key:"getLayerElement",value:function(t){if(t==="mouse")return this.mouseLayer;var r=this.extraElements[t];if(!r)throw new Error('Sigma: layer "'.concat(t,'" does not exist'));return r}},{key:"initWebGLContext",value:function(){var t=this,r=this.createWebGLContext("stage");this.stageCanvas=this.extraElements.stage,this.webGLContext=r,this.stageCanvas.addEventListener("webglcontextlost",function(i){t.webGLContext&&(i.preventDefault(),t.contextLost=!0,t.renderFrame&&(cancelAnimationFrame(t.renderFrame),t.renderFrame=null),t.gpuTimerExt=void 0,t.activeGpuTimerQuery=null,t.pendingGpuTimerQueries=[],t.emit("webglContextLost"))}),this.stageCanvas.addEventListener("webglcontextrestored",function(){requestAnimationFrame(function(){t.webGLContext&&!t.webGLContext.isContextLost()&&t.restoreWebGLContext()})}),this.initPickingFramebuffer()}},{key:"initPickingFramebuffer",value:function(){var t=this.webGLContext,r=t.createFramebuffer();if(!r)throw new Error("Sigma: cannot create picking frame buffer");t.bindFramebuffer(t.FRAMEBUFFER,r);var i=t.createTexture();if(!i)throw new Error("Sigma: cannot create picking texture");t.bindTexture(t.TEXTURE_2D,i),t.texImage2D(t.TEXTURE_2D,0,t.RGBA,1,1,0,t.RGBA,t.UNSIGNED_BYTE,null),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_MIN_FILTER,t.NEAREST),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_MAG_FILTER,t.NEAREST),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_WRAP_S,t.CLAMP_TO_EDGE),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_WRAP_T,t.CLAMP_TO_EDGE),t.framebufferTexture2D(t.FRAMEBUFFER,t.COLOR_ATTACHMENT0,t.TEXTURE_2D,i,0);var o=t.createRenderbuffer();if(!o)throw new Error("Sigma: cannot create picking depth buffer");if(t.bindRenderbuffer(t.RENDERBUFFER,o),t.renderbufferStorage(t.RENDERBUFFER,t.DEPTH_COMPONENT16,1,1),t.framebufferRenderbuffer(t.FRAMEBUFFER,t.DEPTH_ATTACHMENT,t.RENDERBUFFER,o),t.checkFramebufferStatus(t.FRAMEBUFFER)!==t.FRAMEBUFFER_COMPLETE)throw new Error("Sigma: picking framebuffer is not complete");t.bindFramebuffer(t.FRAMEBUFFER,null),this.pickingFrameBuffer=r,this.pickingTexture=i,this.pickingDepthBuffer=o}},{key:"initPrograms",value:function(t,r){var i=this,o=this.webGLContext,s=Os(o,this.pickingFrameBuffer,i,t?.nodes,r.antialiasNodes),l=s.nodeProgram,d=s.labelProgram,u=s.backdropProgram,f=s.labelBackgroundProgram,g=s.attachmentProgram,h=s.framePass,p=s.shapeSlug,y=s.shapeNameToIndex,m=s.shapeGlobalIds,v=s.variables;this.nodeProgram=l,this.nodeFramePass=h,this.nodeVariableEntries=Object.entries(v),p&&(this.nodeShapeSlug=p);var b=Ws(o,this.pickingFrameBuffer,i,t?.edges,r.antialiasEdges,t?.nodes),_=b.edgeProgram,x=b.createLabelPrograms,T=b.framePass,S=b.variables,A=b.paths;return this.createEdgeLabelPrograms=x,this.edgeProgram=_,this.edgeFramePass=T,this.edgeVariableEntries=Object.entries(S),this.edgePathsByName=new Map(A.map(function(E){return[E.name,E]})),{labelProgram:d,edgeLabelProgram:null,edgeLabelBackgroundProgram:null,backdropProgram:u,labelBackgroundProgram:f,attachmentProgram:g,nodeShapeMap:y??null,nodeGlobalShapeIds:m??null}}},{key:"restoreWebGLContext",value:function(){var t,r,i,o,s,l=this.internals;this.initPickingFramebuffer(),(t=l.nodeDataTexture)===null||t===void 0||t.restore(),(r=l.nodeFrameTexture)===null||r===void 0||r.restore(),(i=l.edgeDataTexture)===null||i===void 0||i.restore(),(o=l.edgeFrameTexture)===null||o===void 0||o.restore(),(s=l.attachmentManager)===null||s===void 0||s.restore(),l.hoverResolver.reset(),Object.assign(l,this.initPrograms(l.primitives,l.settings));var d=O(this.customLayerPrograms.values()),u;try{for(d.s();!(u=d.n()).done;){var f=u.value;f.program.kill(),f.program=f.factory(this.webGLContext)}}catch(g){d.e(g)}finally{d.f()}this.contextLost=!1,this.emit("webglContextRestored"),this.refresh()}},{key:"createLayer",value:function(t,r){var i=arguments.length>2&&arguments[2]!==void 0?arguments[2]:{};if(this.extraElements[t])throw new Error('Sigma: a layer named "'.concat(t,'" already exists'));var o=zt(r,{position:"absolute"},{class:"sigma-".concat(t)});return i.style&&Object.assign(o.style,i.style),this.extraElements[t]=o,"beforeLayer"in i&&i.beforeLayer?this.getLayerElement(i.beforeLayer).before(o):"afterLayer"in i&&i.afterLayer?this.getLayerElement(i.afterLayer).after(o):this.container.appendChild(o),o}},{key:"createCanvas",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{};return this.createLayer(t,"canvas",r)}},{key:"createWebGLContext",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{},i=this.createCanvas(t,r);r.hidden&&i.remove();var o=i.getContext("webgl2",W({preserveDrawingBuffer:!1,antialias:!1,depth:!0},r));if(!o)throw new Error("Sigma: WebGL 2 is not supported by your browser. Please use a modern browser (Chrome 56+, Firefox 51+, Safari 15+, Edge 79+).");return o.blendFunc(o.ONE,o.ONE_MINUS_SRC_ALPHA),o}},{key:"killLayer",value:function(t){if(t==="stage"||t==="mouse")throw new Error('Sigma: cannot kill built-in layer "'.concat(t,'"'));var r=this.extraElements[t];if(!r)throw new Error("Sigma: cannot kill layer ".concat(t,", which does not exist"));return r.remove(),delete this.extraElements[t],this}},{key:"getWebGLContext",value:function(){if(!this.webGLContext)throw new Error("Sigma: WebGL context is not available");return this.webGLContext}},{key:"getNodeDataTexture",value:function(){if(!this.internals.nodeDataTexture)throw new Error("Sigma: node data texture is not available");return this.internals.nodeDataTexture}},{key:"getNormalizationFunction",value:function(){return this.normalizationFunction}},{key:"addCustomLayerProgram",value:function(t,r,i){var o;if(!this.depthLayers.includes(r))throw new Error('Sigma: cannot add custom layer program at depth "'.concat(r,'", ')+"it must be declared in primitives.depthLayers. Current layers: ".concat(this.depthLayers.join(", ")));(o=this.customLayerPrograms.get(t))===null||o===void 0||o.program.kill();var s=i(this.webGLContext);return this.customLayerPrograms.set(t,{depth:r,factory:i,program:s}),s.cacheData&&s.cacheData(),this.scheduleRender(),this}},{key:"removeCustomLayerProgram",value:function(t){var r=this.customLayerPrograms.get(t);return r&&(r.program.kill(),this.customLayerPrograms.delete(t),this.scheduleRender()),this}},{key:"getCamera",value:function(){return this.camera}},{key:"setCamera",value:function(t){return this.camera.cancelAnimation(),this.unbindCameraHandlers(),this.camera=t,this.bindCameraHandlers(),this.scheduleRender(),this}},{key:"getContainer",value:function(){return this.container}},{key:"getGraph",value:function(){return this.internals.graph}},{key:"setGraph",value:function(t){return t===this.internals.graph?this:(this.stateManager.pruneNodes(function(r){return t.hasNode(r)}),this.stateManager.pruneEdges(function(r){return t.hasEdge(r)}),this.unbindGraphHandlers(),this.checkEdgesEventsFrame!==null&&(cancelAnimationFrame(this.checkEdgesEventsFrame),this.checkEdgesEventsFrame=null),this.internals.graph=t,this.autoRescaleFrozen=!1,this.bindGraphHandlers(),this.refresh(),this)}},{key:"getMouseCaptor",value:function(){return this.mouseCaptor}},{key:"getTouchCaptor",value:function(){return this.touchCaptor}},{key:"getDimensions",value:function(){return{width:this.width,height:this.height}}},{key:"getGraphDimensions",value:function(){var t=this.customBBox||this.nodeExtent;return{width:t.x[1]-t.x[0]||1,height:t.y[1]-t.y[0]||1}}},{key:"getNodeDisplayData",value:function(t){var r=this.internals.nodeDataCache[t];return r?Object.assign({},r):void 0}},{key:"getEdgeDisplayData",value:function(t){var r=this.internals.edgeDataCache[t];return r?Object.assign({},r):void 0}},{key:"getNodeState",value:function(t){return this.stateManager.getNodeState(t)}},{key:"getEdgeState",value:function(t){return this.stateManager.getEdgeState(t)}},{key:"getGraphState",value:function(){return this.stateManager.getGraphState()}},{key:"setNodeState",value:function(t,r){return this.stateManager.setNodeState(t,r),this}},{key:"setEdgeState",value:function(t,r){return this.stateManager.setEdgeState(t,r),this}},{key:"setGraphState",value:function(t){return this.stateManager.setGraphState(t),this}},{key:"_setPanning",value:function(t){this.stateManager.setGraphState({isPanning:t})}},{key:"_setZooming",value:function(t){this.stateManager.setGraphState({isZooming:t})}},{key:"_hasNodeDrag",value:function(){var t=this.internals.dragManager;return!!(t.pendingNode||t.session)}},{key:"_showGestureHint",value:function(t){var r=this.internals.settings;r.gestureTarget==="shared"&&(this.gestureHint=this.gestureHint||new sg(this.container),this.gestureHint.show(t,r))}},{key:"setNodesState",value:function(t,r){return this.stateManager.setNodesState(t,r),this}},{key:"setEdgesState",value:function(t,r){return this.stateManager.setEdgesState(t,r),this}},{key:"updateContainerCursor",value:function(){var t=this.stateManager.hovered,r=this.resolvedStageStyle.cursor||"";this.container.style.cursor=t&&jf(this.internals,t)||r}},{key:"refreshStageStyle",value:function(){this.resolvedStageStyle=Ar(this.stylesDeclaration.stage,this.stateManager.graphState),this.resolvedStageStyle.background!==void 0&&(this.container.style.backgroundColor=this.resolvedStageStyle.background),this.updateContainerCursor()}},{key:"getNodeDisplayedLabels",value:function(){return new Set(this.labelRenderer.displayedNodeLabels)}},{key:"getEdgeDisplayedLabels",value:function(){return new Set(this.labelRenderer.displayedEdgeLabels)}},{key:"getSettings",value:function(){return W({},this.internals.settings)}},{key:"getSetting",value:function(t){return this.internals.settings[t]}},{key:"getStyles",value:function(){return W({},this.stylesDeclaration)}},{key:"getPrimitives",value:function(){return W({},this.internals.primitives)}},{key:"setSetting",value:function(t,r){return this.internals.settings[t]=r,fa(this.internals.settings),this.handleSettingsUpdate(),this.scheduleRefresh(),this}},{key:"updateSetting",value:function(t,r){return this.setSetting(t,r(this.internals.settings[t])),this}},{key:"setSettings",value:function(t){return this.internals.settings=W(W({},this.internals.settings),t),fa(this.internals.settings),this.handleSettingsUpdate(),this.scheduleRefresh(),this}},{key:"resize",value:function(t){var r=this.width,i=this.height;if(this.width=this.container.offsetWidth,this.height=this.container.offsetHeight,this.internals.pixelRatio=gn(),this.width===0)if(this.internals.settings.allowInvalidContainer)this.width=1;else throw new Error("Sigma: Container has no width. You can set the allowInvalidContainer setting to true to stop seeing this error.");if(this.height===0)if(this.internals.settings.allowInvalidContainer)this.height=1;else throw new Error("Sigma: Container has no height. You can set the allowInvalidContainer setting to true to stop seeing this error.");if(!t&&r===this.width&&i===this.height)return this;this.labelRenderer.labelsDirty=!0;for(var o=0,s=[this.mouseLayer].concat(X(Object.values(this.extraElements)));o<s.length;o++){var l=s[o];l.style.width=this.width+"px",l.style.height=this.height+"px"}return this.webGLContext&&(this.stageCanvas.setAttribute("width",this.width*this.internals.pixelRatio+"px"),this.stageCanvas.setAttribute("height",this.height*this.internals.pixelRatio+"px"),this.webGLContext.viewport(0,0,this.width*this.internals.pixelRatio,this.height*this.internals.pixelRatio)),this.emit("resize"),this}},{key:"clear",value:function(){return this.emit("beforeClear"),this.webGLContext.bindFramebuffer(WebGLRenderingContext.FRAMEBUFFER,null),this.webGLContext.clear(WebGLRenderingContext.COLOR_BUFFER_BIT),this.emit("afterClear"),this}},{key:"scheduleStateRefresh",value:function(){this.needToRefreshState=!0,this.scheduleRender()}},{key:"refreshState",value:function(){var t=this,r;this.stateManager.flushGraphStateFlags();var i=this.stateManager.graphStateChanged&&this.internals.nodeStyleAnalysis.dependency==="graph-state",o=this.stateManager.graphStateChanged&&this.edgeStyleAnalysis.dependency==="graph-state",s=!1;if(i)this.internals.graph.forEachNode(function(p){t.refreshNodeState(p)&&(s=!0)});else if(this.internals.nodeStyleAnalysis.dependency!=="static"){var l=O(this.stateManager.dirtyNodes),d;try{for(l.s();!(d=l.n()).done;){var u=d.value;this.refreshNodeState(u)&&(s=!0)}}catch(p){l.e(p)}finally{l.f()}}if(o)this.internals.graph.forEachEdge(function(p){t.refreshEdgeState(p)&&(s=!0)});else if(this.edgeStyleAnalysis.dependency!=="static"){var f=O(this.stateManager.dirtyEdges),g;try{for(f.s();!(g=f.n()).done;){var h=g.value;this.refreshEdgeState(h)&&(s=!0)}}catch(p){f.e(p)}finally{f.f()}}this.stateManager.graphStateChanged&&(r=this.stylesDeclaration)!==null&&r!==void 0&&r.stage&&this.refreshStageStyle(),this.stateManager.clearDirtyTracking(),s&&(this.pendingProcess="full")}},{key:"refreshNodeState",value:function(t){var r=this.internals.nodeDataCache[t];if(!r||this.nodeReducer){var i,o,s,l,d=(i=this.internals.nodeDataCache[t])===null||i===void 0?void 0:i.depth,u=(o=this.internals.nodeDataCache[t])===null||o===void 0?void 0:o.zIndex,f=(s=this.internals.nodeDataCache[t])===null||s===void 0?void 0:s.labelAttachment;this.updateNode(t);var g=this.internals.nodeDataCache[t];this.internals.attachmentManager&&g.labelAttachment!==f&&this.internals.attachmentManager.invalidateNode(t);var h;this.internals.nodeShapeMap&&this.internals.nodeGlobalShapeIds&&g.shape&&g.shape in this.internals.nodeShapeMap?h=this.internals.nodeGlobalShapeIds[this.internals.nodeShapeMap[g.shape]]:h=yn(g.shape||"circle"),(l=this.internals.nodeDataTexture).updateNode.apply(l,[t,g.x,g.y,g.size,h].concat(X(ua(g)),[g.color])),d&&g.depth!==d&&this.updateNodeDepthRanges(t,d,g.depth);var p=this.nodeProgramIndex[t];return p!==void 0&&(this.addNodeToProgram(t,p),this.nodeProgram.invalidateBuffers()),u!==void 0&&g.zIndex!==u}var y=this.internals.graph.getNodeAttributes(t),m=this.stateManager.getNodeState(t),v=r.size,b=r.shape,_=r.depth,x=r.zIndex,T=r.labelAttachment,S=r.rotationAlignment,A=r.labelRotationAlignment,E=r.color;Er(this.stylesDeclaration.nodes,y,m,this.stateManager.graphState,this.internals.graph,r),this.postEvaluateNode(r,y,m);var k=this.nodeGraphCoords[t],D=r.x!==k.x||r.y!==k.y;if(D&&(k.x=r.x,k.y=r.y),this.normalizationFunction.applyTo(r),this.internals.nodeShapeMap?(!r.shape||!(r.shape in this.internals.nodeShapeMap))&&(r.shape=Object.keys(this.internals.nodeShapeMap)[0]):this.nodeShapeSlug&&(r.shape=this.nodeShapeSlug),this.internals.attachmentManager&&r.labelAttachment!==T&&this.internals.attachmentManager.invalidateNode(t),mt(this.internals.nodesWithForcedLabels,t,it(r)),mt(this.internals.nodesWithBackdrop,t,kr(r)),D||r.size!==v||r.shape!==b||r.rotationAlignment!==S||r.labelRotationAlignment!==A||r.color!==E){var C,R;this.internals.nodeShapeMap&&this.internals.nodeGlobalShapeIds&&r.shape&&r.shape in this.internals.nodeShapeMap?R=this.internals.nodeGlobalShapeIds[this.internals.nodeShapeMap[r.shape]]:R=yn(r.shape||"circle"),(C=this.internals.nodeDataTexture).updateNode.apply(C,[t,r.x,r.y,r.size,R].concat(X(ua(r)),[r.color]))}this.itemBuckets.nodes.set(t,r.depth),r.depth!==_&&this.updateNodeDepthRanges(t,_,r.depth);var F=this.nodeProgramIndex[t];return F!==void 0&&(this.addNodeToProgram(t,F),this.nodeProgram.invalidateBuffers()),r.zIndex!==x}},{key:"refreshEdgeState",value:function(t){var r=this.internals.edgeDataCache[t];if(!r||this.edgeReducer){var i=r?.depth,o=r?.zIndex;this.updateEdge(t);var s=this.internals.edgeDataCache[t];i&&s.depth!==i&&this.updateEdgeDepthRanges(t,i,s.depth);var l=this.edgeProgramIndex[t];return l!==void 0&&(this.addEdgeToProgram(t,l),this.edgeProgram.invalidateBuffers()),o!==void 0&&s.zIndex!==o}var d=this.internals.graph.getEdgeAttributes(t),u=this.stateManager.getEdgeState(t),f=r.depth,g=r.zIndex,h=r.size,p=r.path,y=r.selfLoopPath,m=r.parallelPath,v=r.head,b=r.tail;wr(this.stylesDeclaration.edges,d,u,this.stateManager.graphState,this.internals.graph,r),this.postEvaluateEdge(r,d),this.applyEdgeSpread(t,r,u),mt(this.internals.edgesWithForcedLabels,t,it(r)),this.itemBuckets.edges.set(t,r.depth),r.depth!==f&&this.updateEdgeDepthRanges(t,f,r.depth);var _=this.edgeProgramIndex[t];if(_!==void 0){var x=r.size!==h||r.path!==p||r.selfLoopPath!==y||r.parallelPath!==m||r.head!==v||r.tail!==b;if(x)this.addEdgeToProgram(t,_),this.edgeProgram.invalidateBuffers();else{var T=this.internals.graph.source(t),S=this.internals.graph.target(t),A=this.internals.nodeDataCache[T],E=this.internals.nodeDataCache[S],k=this.edgeTextureIndexCache[t];this.edgeProgram.process(St(this.pickingState,"edge",t),_,A,E,r,k),this.edgeProgram.invalidateBuffers()}}return r.zIndex!==g}},{key:"refresh",value:function(t){var r=this,i=t?.skipIndexation!==void 0?t?.skipIndexation:!1,o=t?.schedule!==void 0?t.schedule:!1,s=!t||!t.partialGraph;if(s)this.clearEdgeIndices(),this.clearNodeIndices(),this.internals.graph.forEachNode(function(A){return r.addNode(A)}),this.edgeGroups.rebuild(),this.internals.graph.forEachEdge(function(A){return r.addEdge(A)}),this.pendingProcess="full";else{for(var l,d,u=((l=t.partialGraph)===null||l===void 0?void 0:l.nodes)||[],f=0,g=u?.length||0;f<g;f++){var h,p,y=""+u[f],m=(h=this.internals.nodeDataCache[y])===null||h===void 0?void 0:h.labelAttachment;if(this.updateNode(y),this.internals.attachmentManager&&((p=this.internals.nodeDataCache[y])!==null&&p!==void 0&&p.labelAttachment||m)&&this.internals.attachmentManager.invalidateNode(y),i){var v=this.nodeProgramIndex[y];if(v===void 0)throw new Error('Sigma: node "'.concat(y,`" can't be repaint`));this.addNodeToProgram(y,v)}}i&&u.length>0&&(this.nodeProgram.invalidateBuffers(),this.labelRenderer.labelsDirty=!0);for(var b=(t==null||(d=t.partialGraph)===null||d===void 0?void 0:d.edges)||[],_=0,x=b.length;_<x;_++){var T=""+b[_];if(this.updateEdge(T),i){var S=this.edgeProgramIndex[T];if(S===void 0)throw new Error('Sigma: edge "'.concat(T,`" can't be repaint`));this.addEdgeToProgram(T,S)}}i&&b.length>0&&(this.edgeProgram.invalidateBuffers(),this.labelRenderer.labelsDirty=!0),!i&&this.pendingProcess!=="full"&&(this.pendingProcess=b.length>0?"full":"nodes")}return o?this.scheduleRender():this.render(),this}},{key:"scheduleRender",value:function(){var t=this;return this.renderFrame||(this.renderFrame=requestAnimationFrame(function(){t.render()})),this}},{key:"scheduleRefresh",value:function(t){return this.refresh(W(W({},t),{},{schedule:!0}))}},{key:"getViewportZoomedState",value:function(t,r){var i=this.camera.getState(),o=i.ratio,s=i.angle,l=i.x,d=i.y,u=this.internals.settings,f=u.minCameraRatio,g=u.maxCameraRatio;typeof g=="number"&&(r=Math.min(r,g)),typeof f=="number"&&(r=Math.max(r,f));var h=r/o,p={x:this.width/2,y:this.height/2},y=this.viewportToFramedGraph(t),m=this.viewportToFramedGraph(p);return{angle:s,x:(y.x-m.x)*(1-h)+l,y:(y.y-m.y)*(1-h)+d,ratio:r}}},{key:"viewRectangle",value:function(){var t=this.viewportToFramedGraph({x:0,y:0}),r=this.viewportToFramedGraph({x:this.width,y:0}),i=this.viewportToFramedGraph({x:0,y:this.height});return{x1:t.x,y1:t.y,x2:r.x,y2:r.y,height:r.y-i.y}}},{key:"framedGraphToViewport",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{},i=!!r.cameraState||!!r.viewportDimensions||!!r.graphDimensions||!!r.padding,o=r.matrix||(i?at(r.cameraState||this.camera.getState(),r.viewportDimensions||this.getDimensions(),r.graphDimensions||this.getGraphDimensions(),r.padding||this.getStagePadding()):this.matrix),s=Ft(o,t);return{x:(1+s.x)*this.width/2,y:(1-s.y)*this.height/2}}},{key:"viewportToFramedGraph",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{},i=!!r.cameraState||!!r.viewportDimensions||!!r.graphDimensions||!!r.padding,o=r.matrix||(i?at(r.cameraState||this.camera.getState(),r.viewportDimensions||this.getDimensions(),r.graphDimensions||this.getGraphDimensions(),r.padding||this.getStagePadding(),!0):this.invMatrix),s=Ft(o,{x:t.x/this.width*2-1,y:1-t.y/this.height*2});return isNaN(s.x)&&(s.x=0),isNaN(s.y)&&(s.y=0),s}},{key:"viewportToGraph",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{};return this.normalizationFunction.inverse(this.viewportToFramedGraph(t,r))}},{key:"graphToViewport",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{};return this.framedGraphToViewport(this.normalizationFunction(t),r)}},{key:"graphToFramedGraph",value:function(t){return this.normalizationFunction(t)}},{key:"framedGraphToGraph",value:function(t){return this.normalizationFunction.inverse(t)}},{key:"getGraphToViewportRatio",value:function(){var t={x:0,y:0},r={x:1,y:1},i=Math.sqrt(Math.pow(t.x-r.x,2)+Math.pow(t.y-r.y,2)),o=this.graphToViewport(t),s=this.graphToViewport(r),l=Math.sqrt(Math.pow(o.x-s.x,2)+Math.pow(o.y-s.y,2));return l/i}},{key:"computeNodeExtent",value:function(){var t=this.nodeGraphCoords,r=Object.keys(t);if(!r.length)return{x:[0,1],y:[0,1]};for(var i=1/0,o=-1/0,s=1/0,l=-1/0,d=0,u=r.length;d<u;d++){var f=t[r[d]],g=f.x,h=f.y;g<i&&(i=g),g>o&&(o=g),h<s&&(s=h),h>l&&(l=h)}return{x:[i,o],y:[s,l]}}},{key:"getBBox",value:function(){return this.nodeExtent}},{key:"getCustomBBox",value:function(){return this.customBBox}},{key:"setCustomBBox",value:function(t){return this.customBBox=t,this.scheduleRender(),this}},{key:"kill",value:function(){var t,r,i,o,s;this.emit("kill"),this.removeAllListeners(),this.camera.cancelAnimation(),this.unbindCameraHandlers(),window.removeEventListener("resize",this.activeListeners.handleResize),this.mouseCaptor.kill(),this.touchCaptor.kill(),this.internals.hoverResolver.kill(),this.unbindGraphHandlers(),this.clearIndices(),this.clearState(),this.internals.nodeDataCache={},this.internals.edgeDataCache={},this.renderFrame&&(cancelAnimationFrame(this.renderFrame),this.renderFrame=null);for(var l=this.container;l.firstChild;)l.removeChild(l.firstChild);this.nodeProgram.kill(),this.nodeFramePass.kill(),this.edgeProgram.kill(),this.edgeFramePass.kill(),this.internals.labelProgram.kill(),(t=this.internals.edgeLabelProgram)===null||t===void 0||t.kill(),(r=this.internals.edgeLabelBackgroundProgram)===null||r===void 0||r.kill(),this.internals.backdropProgram.kill(),this.internals.labelBackgroundProgram.kill(),(i=this.internals.attachmentProgram)===null||i===void 0||i.kill(),(o=this.internals.attachmentManager)===null||o===void 0||o.kill(),this.internals.attachmentProgram=null,this.internals.attachmentManager=null;var d=O(this.customLayerPrograms.values()),u;try{for(d.s();!(u=d.n()).done;){var f=u.value.program;f.kill()}}catch(p){d.e(p)}finally{d.f()}if(this.customLayerPrograms.clear(),this.sdfAtlas&&(this.sdfAtlas=null),this.internals.nodeDataTexture&&(this.internals.nodeDataTexture.kill(),this.internals.nodeDataTexture=null),this.internals.nodeFrameTexture&&(this.internals.nodeFrameTexture.kill(),this.internals.nodeFrameTexture=null),this.internals.edgeDataTexture&&(this.internals.edgeDataTexture.kill(),this.internals.edgeDataTexture=null),this.internals.edgeFrameTexture&&(this.internals.edgeFrameTexture.kill(),this.internals.edgeFrameTexture=null),this.webGLContext){var g;(g=this.webGLContext.getExtension("WEBGL_lose_context"))===null||g===void 0||g.loseContext(),this.webGLContext=null}(s=this.gestureHint)===null||s===void 0||s.kill(),this.gestureHint=null,this.mouseLayer.remove();for(var h in this.extraElements)this.extraElements[h].remove();this.extraElements={}}},{key:"scaleSize",value:function(){var t=arguments.length>0&&arguments[0]!==void 0?arguments[0]:1,r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:this.camera.ratio;return t/this.internals.settings.zoomToSizeRatioFunction(r)*(this.getSetting("itemSizesReference")==="positions"?r*this.graphToViewportRatio:1)}},{key:"getStageCanvas",value:function(){return this.stageCanvas}},{key:"getMouseLayer",value:function(){return this.mouseLayer}}])})(da),pl=pg;var Rv=ct(Rt());function vl(a,n){return typeof a=="number"?a:(te(a)==="object"&&a!==null&&"attribute"in a,n)}function ml(a){var n=a??{},e=n.cornerRadius,t=n.rotation,r=vl(e,0),i=vl(t,0),o=`
`.concat(Or,`
float sdf_square(vec2 uv, float size, float cornerRadius, float rotation) {
  // Apply rotation if needed
  vec2 p = uv;
  if (rotation != 0.0) {
    p = rotate2D(rotation) * p;
  }

  // Distance to box with given corner radius
  // Based on Inigo Quilez's box SDF: https://iquilezles.org/articles/distfunctions2d/
  vec2 d = abs(p) - vec2(size - cornerRadius);
  return length(max(d, 0.0)) + min(max(d.x, d.y), 0.0) - cornerRadius;
}
`);return{name:"square",glsl:o,uniforms:[{name:"u_cornerRadius",type:"float",value:r},{name:"u_rotation",type:"float",value:i}],inradiusFactor:Math.SQRT1_2}}function bl(a){var n=a??{},e=n.segments,t=e===void 0?16:e,r=`
// Compute control point from curvature
// Control point is placed perpendicular to the midpoint of source-target line
vec2 computeControlPoint(vec2 source, vec2 target, float curvature) {
  vec2 midpoint = 0.5 * (source + target);
  vec2 delta = target - source;
  // Perpendicular direction (rotated 90 degrees)
  vec2 perp = vec2(-delta.y, delta.x);
  float len = length(perp);
  if (len < 0.0001) return midpoint;
  perp = perp / len;
  // Offset by curvature * edge length
  return midpoint + perp * curvature * len;
}

// Position at parameter t ∈ [0, 1]
vec2 path_curved_position(float t, vec2 source, vec2 target) {
  float curvature = v_curvature;
  vec2 control = computeControlPoint(source, target, curvature);
  float u = 1.0 - t;
  return u * u * source + 2.0 * u * t * control + t * t * target;
}

// Derivative of quadratic Bezier (for efficient arc length computation)
vec2 path_curved_derivative(float t, vec2 source, vec2 target) {
  float curvature = v_curvature;
  vec2 control = computeControlPoint(source, target, curvature);
  // B'(t) = 2(1-t)(P1-P0) + 2t(P2-P1)
  return 2.0 * (1.0 - t) * (control - source) + 2.0 * t * (target - control);
}

// Approximate arc length using 5-point Gauss-Legendre quadrature
float path_curved_length(vec2 source, vec2 target) {
  // Gauss-Legendre 5-point weights and abscissae
  const float x1 = 0.9061798459, x2 = 0.5384693101;
  const float w1 = 0.2369268850, w2 = 0.4786286705, w3 = 0.5688888889;

  // Transform from [-1,1] to [0,1]: t = 0.5 * (x + 1)
  float t1a = 0.5 * (-x1 + 1.0), t1b = 0.5 * (x1 + 1.0);
  float t2a = 0.5 * (-x2 + 1.0), t2b = 0.5 * (x2 + 1.0);

  // Evaluate derivative magnitudes at sample points
  float d1a = length(path_curved_derivative(t1a, source, target));
  float d1b = length(path_curved_derivative(t1b, source, target));
  float d2a = length(path_curved_derivative(t2a, source, target));
  float d2b = length(path_curved_derivative(t2b, source, target));
  float d3 = length(path_curved_derivative(0.5, source, target));

  // Sum weighted samples (factor of 0.5 for interval transformation)
  return 0.5 * (w1 * (d1a + d1b) + w2 * (d2a + d2b) + w3 * d3);
}
`;return{name:"curved",segments:t,glsl:r,uniforms:[],attributes:[{name:"curvature",size:1,type:WebGL2RenderingContext.FLOAT}],variables:{curvature:{type:"number",default:0}},spread:{variable:"curvature",compute:function(o,s,l){return(o-(s-1)/2)*l}}}}function yl(a){let n=new Map,e=[...a.nodes.values()].filter(o=>o.kind==="switch").map(o=>o.guid).sort(),t=new Map(e.map((o,s)=>[o,s])),r=e.map(o=>{let s=a.neighbours(o).flatMap(l=>t.get(l)??[]);return[...new Set(s)]}),i=mg(r);e.length<=800&&bg(i,r),i.forEach((o,s)=>n.set(e[s],{x:o.x*2,y:o.y}));for(let o of e){let s=n.get(o),l=a.hostsOf.get(o)??[],d=Math.atan2(s.y,s.x);l.forEach((u,f)=>{let g=d+(f-(l.length-1)/2)*(Math.PI/Math.max(l.length,4));n.set(u,{x:s.x+.5*Math.cos(g),y:s.y+.5*Math.sin(g)})})}return n}function vg(a,n){let e=new Float64Array(a.length).fill(-1);e[n]=0;let t=[n];for(let i=0;i<t.length;i+=1){let o=t[i];for(let s of a[o])e[s]<0&&(e[s]=e[o]+1,t.push(s))}let r=e.reduce((i,o)=>Math.max(i,o),0)+2;return e.map(i=>i<0?r:i)}function mg(a){let n=a.length;if(n===0)return[];let e=[],t=new Float64Array(n).fill(1/0),r=0;for(let m=0;m<Math.min(40,n);m+=1){let v=vg(a,r);for(let b=0;b<n;b+=1)t[b]=Math.min(t[b],v[b]);e.push(v.map(b=>b*b)),r=t.reduce((b,_,x)=>_>t[b]?x:b,0)}let i=e.length,o=new Float64Array(n),s=0;for(let m of e)m.forEach((v,b)=>o[b]=o[b]+v/i);o.forEach(m=>s+=m/n);let l=e.map(m=>{let v=m.reduce((b,_)=>b+_,0)/n;return m.map((b,_)=>-.5*(b-v-o[_]+s))}),d=[],u=m=>{let v=Float64Array.from({length:i},(_,x)=>Math.sin((x+1)*m)),b=new Float64Array(n);for(let _=0;_<60;_+=1){for(let T of d){let S=T.reduce((A,E,k)=>A+E*v[k],0);v=v.map((A,E)=>A-S*T[E])}b=new Float64Array(n),l.forEach((T,S)=>T.forEach((A,E)=>b[E]=b[E]+A*v[S])),v=Float64Array.from(l,T=>T.reduce((S,A,E)=>S+A*b[E],0));let x=Math.hypot(...v)||1;v=v.map(T=>T/x)}return d.push(v),b},f=u(1),g=u(2.3),h=m=>Math.sqrt(n)/(m.reduce((v,b)=>Math.max(v,Math.abs(b)),0)||1),p=h(f),y=h(g);return Array.from(f,(m,v)=>({x:m*p+Math.cos(v*2.4)*.3,y:g[v]*y+Math.sin(v*2.4)*.3}))}function bg(a,n){for(let e=0;e<120;e+=1){let t=.6*(1-e/120),r=a.map(()=>({x:0,y:0}));for(let i=0;i<a.length;i+=1){for(let o=0;o<i;o+=1){let s=a[i].x-a[o].x,l=a[i].y-a[o].y,d=1/(s*s+l*l+.01);r[i].x+=s*d,r[i].y+=l*d,r[o].x-=s*d,r[o].y-=l*d}for(let o of n[i]){let s=a[o].x-a[i].x,l=a[o].y-a[i].y,d=Math.hypot(s,l)*.35;r[i].x+=s*d,r[i].y+=l*d}}a.forEach((i,o)=>{let{x:s,y:l}=r[o],d=Math.hypot(s,l)||1;i.x+=s/d*Math.min(d,t),i.y+=l/d*Math.min(d,t)})}}var xl=1.35,yg=2;function Tl(a,n){let e=new Map;switch(a.structure?.kind){case"tree":_g(a,e,n);break;case"grid":xg(a,e);break;case"dragonfly":Tg(a,e);break;default:for(let[t,r]of yl(a))e.set(t,r)}return Sg(a,e),e}function _l(a){return Math.max(1,Math.ceil(Math.sqrt(a/3)))}function _g(a,n,e){let t=a.structure.switches.filter(m=>a.nodes.has(m.guid)),r=new Map;for(let m of t){let v=m.level??0,b=r.get(v);b?b.push(m):r.set(v,[m])}let i=0,o,s=new Map,l=1,d=r.get(0)??[],u=new Map;for(let m of d)u.set(m.group,(u.get(m.group)??0)+1);for(let m of d){let v=e.drawsHostsOf(m.guid)?(a.hostsOf.get(m.guid)??[]).length:0,b=_l(v);l=Math.max(l,Math.ceil(v/b)),m.group!==o&&(i+=2),o=m.group;let _=e.blockOf(m.guid)!==void 0?yg/u.get(o):b+1;if(n.set(m.guid,{x:i+_/2,y:0}),o!==void 0){let[x]=s.get(o)??[i];s.set(o,[x,i+_])}i+=_}let f=[...r.values()].map(m=>m.filter(v=>e.blockOf(v.guid)===void 0).length),g=Math.max(i,...f,4),h=Math.max(...r.keys(),0),p=g/xl/(h+1);for(let[m,v]of r){if(m===0)continue;let b=new Map;for(let _ of v){let x=b.get(_.group);x?x.push(_):b.set(_.group,[_])}for(let[_,x]of b){let[T,S]=_!==void 0&&s.get(_)||[0,g];x.forEach((A,E)=>{n.set(A.guid,{x:T+(E+.5)*(S-T)/x.length,y:m*p})})}}let y=Math.min(1,p*.7/l);for(let m of t){let v=n.get(m.guid),b=a.hostsOf.get(m.guid)??[],_=m.level?b.length:_l(b.length);b.forEach((x,T)=>{let S=T%_,A=m.level?v.y-p*.12:-(p*.25+Math.floor(T/_)*y);n.set(x,{x:v.x+(S-(_-1)/2)*(m.level?.4:1),y:A})})}}function xg(a,n){let e=a.structure,t=e.dimensions.map(d=>d.size),r=t.map((d,u)=>u).sort((d,u)=>t[u]-t[d]),o=1/((t[r[2]??-1]??1)+1),s={x:(t[r[0]]??1)+1,y:(t[r[1]??-1]??1)+1};for(let{guid:d,coordinates:u=[]}of e.switches){let f=m=>u[r[m]??-1]??0,g=f(2),h=f(0)+g*o,p=-f(1)+g*o,y={x:s.x,y:s.y};for(let m=3;m<r.length;m+=1){let v=t[r[m]];m%2===1?(h+=f(m)*y.x,y={...y,x:y.x*(v+.5)}):(p-=f(m)*y.y,y={...y,y:y.y*(v+.5)})}n.set(d,{x:h,y:p})}let l=t.length>2?o*.35:.3;for(let d of a.places.keys())Sl(a,n,d,l,-Math.PI/2,Math.PI/2)}function Tg(a,n){let e=a.structure,t=new Map;for(let l of e.switches){let d=t.get(l.group??0);d?d.push(l):t.set(l.group??0,[l])}let r=t.size,i=10,o=Math.min(4,Math.PI*i*.55/Math.max(r,3)),s=0;for(let l of t.values()){let d=2*Math.PI*s/r+Math.PI/2,u={x:xl*i*Math.cos(d),y:i*Math.sin(d)};[l.filter(g=>!g.level),l.filter(g=>g.level)].forEach((g,h)=>{let p=h===1?o*.45:o;g.forEach((y,m)=>{let v=d+2*Math.PI*m/g.length,b={x:u.x+p*Math.cos(v),y:u.y+p*Math.sin(v)};n.set(y.guid,b),Sl(a,n,y.guid,o*.28,v,Math.PI*.8)})}),s+=1}}function Sl(a,n,e,t,r,i){let o=n.get(e),s=a.hostsOf.get(e)??[];if(!o)return;let l=Math.max(6,Math.ceil(Math.sqrt(s.length)*3));s.forEach((d,u)=>{let f=Math.floor(u/l),g=Math.min(l,s.length-f*l),h=r+(u%l-(g-1)/2)*(i/Math.max(g,2)),p=t*(1+f*.35);n.set(d,{x:o.x+p*Math.cos(h),y:o.y+p*Math.sin(h)})})}function Sg(a,n){let e=[...n.values()].map(l=>l.x),t=[...n.values()].map(l=>l.y);e.length===0&&(e=[0]),t.length===0&&(t=[0]);let r=e.reduce((l,d)=>Math.min(l,d)),i=t.reduce((l,d)=>Math.min(l,d)),o=Math.max(1,e.reduce((l,d)=>Math.max(l,d))-r)/40,s=0;for(let l of a.nodes.keys()){if(n.has(l))continue;let d=a.neighbours(l).map(u=>n.get(u)).find(u=>u!==void 0);d?n.set(l,{x:d.x+o,y:d.y-o}):(n.set(l,{x:r+s*o,y:i-2*o}),s+=1)}}function El(a){if(a.length<2)return 1/0;let n=a.reduce((d,{x:u})=>Math.min(d,u),1/0),e=a.reduce((d,{x:u})=>Math.max(d,u),-1/0),t=a.reduce((d,{y:u})=>Math.min(d,u),1/0),r=a.reduce((d,{y:u})=>Math.max(d,u),-1/0),i=Math.max(Math.sqrt((e-n)*(r-t)/a.length),(e-n+r-t)/a.length),o=new Map,s=({x:d,y:u},f=0,g=0)=>`${Math.floor((d-n)/i)+f} ${Math.floor((u-t)/i)+g}`;for(let d of a){let u=o.get(s(d));u?u.push(d):o.set(s(d),[d])}let l=a.map(d=>{let u=2*i;for(let f of[-1,0,1])for(let g of[-1,0,1])for(let h of o.get(s(d,f,g))??[])h!==d&&(u=Math.min(u,Math.hypot(h.x-d.x,h.y-d.y)));return u});return l.sort((d,u)=>d-u),l[Math.floor(l.length/10)]}var Eg=24,wl=[.5,.9,1.1,1.5];function Al(){let a=getComputedStyle(document.documentElement),n=e=>a.getPropertyValue(`--${e}`).trim();return{text:n("text"),background:n("canvas"),switch:n("switch"),host:n("host"),block:n("block"),link:n("link"),faint:n("faint"),faintNode:n("faint-node"),bad:n("bad"),warn:n("warn"),maintenance:n("maintenance"),path:n("path"),cutOff:n("cut-off"),scale:[0,1,2,3,4].map(e=>n(`scale-${e}`))}}function ei(a,n){let e=new Float64Array(a.links.length);for(let t of n.items){let r=a.linkAt(t.guid,t.port);r!==void 0&&(e[r]=Math.max(e[r],t.routes))}return e}var La=class{constructor(n,e,t,r,i,o){this.model=n;this.coloring=e;this.load=t;this.troubled=r;this.marks=i;this.colors=o;this.loads=e==="load"&&t?ei(n,t):void 0,this.meanLoad=t&&t.items.length>0?t.total/t.items.length:0;let s=new Map;for(let l of n.links)l.mbps>0&&s.set(l.rate,l.mbps);this.speeds=[...s.keys()].sort((l,d)=>s.get(l)-s.get(d))}model;coloring;load;troubled;marks;colors;loads;meanLoad;speeds;node(n){let{colors:e}=this;if(this.marks){let i=n.nodes.map(l=>this.marks.nodes.get(l)),o=["lost","cut-off","at-risk","path","found"].find(l=>i.includes(l)),s=o!==void 0;return{color:s?this.markColor(o):e.faintNode,strength:s?1.3:1,isMarked:s}}let t=n.nodes.map(i=>this.model.nodes.get(i));return t.some(i=>i.state==="absent")?{color:e.bad,strength:1.4}:t.some(i=>this.troubled.has(i.guid))?{color:e.warn,strength:1.3}:{color:n.kind==="switch"?e.switch:n.kind==="host"?e.host:e.block,strength:1}}bundle(n){let{colors:e}=this,t=Math.min(1+Math.log2(n.links.length)*.5,5);if(this.marks){let i=n.links.map(s=>this.marks.links.get(s)),o=["lost","cut-off","at-risk","path","found"].find(s=>i.includes(s));return o?{color:this.markColor(o),size:Math.max(3,t),isOnTop:!0}:{color:e.faint,size:.6,isOnTop:!1}}let r=n.links.map(i=>this.model.links[i]);if(this.coloring==="load"){let i=n.links.reduce((s,l)=>Math.max(s,this.loads?.[l]??0),0),o=wl.filter(s=>i>=s*this.meanLoad).length;return{color:e.scale[o],size:.8+o*.6,isOnTop:o>2}}if(this.coloring==="speed"){let i=r.reduce((o,s)=>s.mbps>0&&(!o||s.mbps<o.mbps)?s:o,void 0);return i?{color:this.speedColor(i.rate),size:t,isOnTop:!1}:{color:e.bad,size:2,isOnTop:!0}}return r.some(i=>i.maintenance)?{color:e.maintenance,size:t+1.5,isOnTop:!0}:r.some(i=>i.state==="down")?{color:e.bad,size:t+1.5,isOnTop:!0}:r.some(i=>i.state!=="up")?{color:e.warn,size:t+1.5,isOnTop:!0}:{color:e.link,size:t,isOnTop:!1}}scale(n){return this.colors.scale[Math.min(4,Math.floor(n*5))]}speedColor(n){let e=this.speeds.indexOf(n);return this.scale(this.speeds.length<2?.5:e/(this.speeds.length-1))}markColor(n){let{colors:e}=this;switch(n){case"lost":return e.bad;case"cut-off":return e.cutOff;case"at-risk":return e.warn;case"path":case"found":return e.path}}namesMarked(){return this.marks!==void 0&&this.marks.nodes.size>0&&this.marks.nodes.size<=Eg}legend(){let{colors:n}=this;if(this.marks){let e={lost:"lost","cut-off":"cut off","at-risk":"without redundancy",path:"path",found:"found"};return{items:[...new Set([...this.marks.nodes.values(),...this.marks.links.values()])].map(r=>({color:this.markColor(r),text:e[r]}))}}if(this.coloring==="load"){let e=wl.map(r=>Math.ceil(r*this.meanLoad));return{items:n.scale.map((r,i)=>({color:r,text:i===0?`fewer than ${e[0]} routes`:i===4?`${e[3]} routes and more`:`from ${e[i-1]}`})),text:`mean ${Math.round(this.meanLoad)}, busiest link ${this.load?.busiest??0} routes`}}return this.coloring==="speed"?{items:this.speeds.map(e=>({color:this.speedColor(e),text:e}))}:{items:[{color:n.switch,text:"switch"},{color:n.host,text:"host"},{color:n.link,text:"link"},{color:n.bad,text:"down or absent"},{color:n.warn,text:"degraded, or has an alarm"},{color:n.maintenance,text:"in maintenance"}]}}};function Rl(a,n){let e=n.nodes.length;if(n.kind==="block")return`${n.label}: ${e} switches, ${n.hosts} hosts`;let t=a.nodes.get(n.nodes[0]),r=n.hosts>0?`, ${n.hosts} hosts`:"";return`${n.label}: ${t.kind==="ca"?"host":t.kind}${t.state==="absent"?", absent":""}${r}`}function Dl(a,n,e){if(e.links.length===1){let r=a.links[e.links[0]];return`${et(r)}: ${r.state}${r.rate?`, ${r.rate}`:""}`}let t=r=>n.items.get(r)?.label??r;return`${t(e.a)} – ${t(e.b)}: ${e.links.length} links`}var kl=12e3,Ll=1.6,wg=9,Ag=1.7,Rg=.12,ti=36,Dg=2500;function Cl(a){let n=gt(null),e=gt(null),t=gt(a),[r,i]=Z(""),[o,s]=Z("");t.current=a,oe(()=>{let v=n.current,b;try{b=new pl(new ie({multi:!1,type:"undirected"}),v,{primitives:{nodes:{shapes:[ml({cornerRadius:.25}),un()],layers:[cn()]},edges:{paths:[hn(),bl()],layers:[$e()]}},styles:{nodes:{x:{attribute:"x"},y:{attribute:"y"},size:{attribute:"size"},color:{attribute:"color"},label:{attribute:"label"},shape:{attribute:"shape"},labelColor:{attribute:"text"},labelVisibility:{attribute:"showLabel"},labelSize:12,labelPosition:"above",cursor:"pointer",depth:{whenState:"isHovered",then:"topNodes",else:"nodes"}},edges:{size:{attribute:"size"},color:{attribute:"color"},opacity:{attribute:"opacity"},path:{attribute:"path"},curvature:{attribute:"curvature"},depth:{attribute:"depth"},cursor:"pointer"}},settings:{itemSizesReference:"screen",stagePadding:ti,labelDensity:.7,labelGridCellSize:110,labelRenderedSizeThreshold:3,minEdgeThickness:.4,enableEdgeEvents:!0,enableCameraRotation:!1,minCameraRatio:.005,maxCameraRatio:3,allowInvalidContainer:!0,zoomToSizeRatioFunction:x=>Math.pow(x,.6)}})}catch(x){s(String(x));return}e.current=b,b.on("clickNode",({node:x})=>t.current.onItem(x)),b.on("clickEdge",({edge:x})=>t.current.onBundle(x)),b.on("clickStage",()=>t.current.onNothing()),b.on("enterNode",({node:x})=>{let T=t.current.view.items.get(x);T&&i(Rl(t.current.model,T))}),b.on("enterEdge",({edge:x})=>{let{model:T,view:S}=t.current,A=S.bundles.get(x);A&&i(Dl(T,S,A))}),b.on("leaveNode",()=>i("")),b.on("leaveEdge",()=>i(""));let _=new ResizeObserver(()=>b.resize());return _.observe(v),()=>{_.disconnect(),b.kill(),e.current=null}},[]);let{view:l,painter:d,selected:u,model:f}=a;oe(()=>{let v=e.current;if(!v)return;let b=new ie({multi:!1,type:"undirected"}),_=[...l.items.values()],x=Cg(_,v.getDimensions()),T=E=>Lg(_.filter(k=>k.kind===E),x),S={switch:T("switch"),host:Math.min(T("host"),T("switch")*.65),block:Math.max(2*Ll,Ag*T("block"))},A=l.items.size>1500;for(let E of l.items.values()){let{color:k,strength:D,isMarked:C}=d.node(E),R=E.key===u,F={...E.at,size:S[E.kind]*D*(R?1.5:1),color:R?d.colors.path:k,label:E.hosts>0&&E.kind==="switch"?`${E.label} +${E.hosts}`:E.label,shape:E.kind==="host"?"circle":"square",showLabel:kg(R||E.kind==="block"||d.namesMarked()&&C===!0,d.namesMarked()||A&&E.kind==="host"),text:d.colors.text};b.addNode(E.key,F)}for(let E of l.bundles.values()){let{color:k,size:D,isOnTop:C}=d.bundle(E),R=E.key===u,F=Pg(f,l,E.a,E.b);b.addEdgeWithKey(E.key,E.a,E.b,{color:R?d.colors.path:k,size:R?4:A&&!C?Math.min(D,.7):D,opacity:C||R?1:Math.max(.06,Math.min(1,Dg/l.bundles.size)),path:F?"curved":"straight",curvature:F?Rg:0,depth:C||R?"topEdges":"edges"})}v.setSetting("hideEdgesOnMove",l.bundles.size>kl),v.setSetting("enableEdgeEvents",l.bundles.size<=kl),v.setGraph(b)},[l,d,u]);let{focus:g}=a,h=gt(void 0);oe(()=>{let v=e.current;if(!v||!g||h.current===g)return;h.current=g,v.refresh();let _=[...new Set(g.nodes.flatMap(E=>l.itemOf.get(E)??[]))].flatMap(E=>v.getNodeDisplayData(E)??[]);if(_.length===0){v.getCamera().reset({duration:200});return}let x=_.map(E=>E.x),T=_.map(E=>E.y),S=E=>(Math.min(...E)+Math.max(...E))/2,A=Math.max(Math.max(...x)-Math.min(...x),Math.max(...T)-Math.min(...T));v.getCamera().animate({x:S(x),y:S(T),ratio:Math.min(1,Math.max(.3,A*1.3))},{duration:250})},[g,l]);let p=()=>e.current?.getCamera(),y=(v,b)=>{let _=p();_&&_.animate({x:_.x+v*_.ratio,y:_.y+b*_.ratio},{duration:80})},m=v=>{let _={"+":()=>{p()?.zoomIn({duration:100})},"-":()=>{p()?.zoomOut({duration:100})},0:()=>{p()?.reset({duration:100})},ArrowLeft:()=>y(-.1,0),ArrowRight:()=>y(.1,0),ArrowUp:()=>y(0,.1),ArrowDown:()=>y(0,-.1),Escape:()=>a.onNothing()}[v.key];_&&(v.preventDefault(),_())};return o?c("div",{class:"empty",role:"alert",children:[c("h2",{children:"The drawing needs WebGL 2"}),c("p",{children:["This browser does not offer it (",o,"). The views Nodes and Links show the same as lists."]})]}):c("div",{class:"drawing",children:[c("div",{class:"canvas",ref:n,tabIndex:0,role:"application","aria-label":a.label,"aria-describedby":"drawing-keys",onKeyDown:m}),c("p",{id:"drawing-keys",class:"visually-hidden",children:"Arrow keys move the drawing, plus and minus zoom, 0 shows everything. The views Nodes and Links list what is drawn."}),c("div",{class:"zoom",children:[c("button",{type:"button",title:"Zoom in (+)","aria-label":"Zoom in",onClick:()=>{p()?.zoomIn()},children:"+"}),c("button",{type:"button",title:"Zoom out (-)","aria-label":"Zoom out",onClick:()=>{p()?.zoomOut()},children:"−"}),c("button",{type:"button",title:"Show everything (0)","aria-label":"Show everything",onClick:()=>{p()?.reset()},children:"⤢"})]}),c("div",{class:"hint","aria-hidden":"true",children:r})]})}function kg(a,n){return a?"visible":n?"hidden":"auto"}function Lg(a,n){let e=El(a.map(t=>t.at));return Math.max(Ll,Math.min(wg,e*n*.4))}function Cg(a,{width:n,height:e}){let t=o=>o.reduce((s,l)=>Math.max(s,l),-1/0)-o.reduce((s,l)=>Math.min(s,l),1/0),r=t(a.map(o=>o.at.x))||1,i=t(a.map(o=>o.at.y))||1;return Math.min((n-2*ti)/r,(e-2*ti)/i)}function Pg(a,n,e,t){let r=a.structure?.dimensions??[];if(r.length===0)return!1;let i=l=>a.places.get(n.items.get(l).nodes[0])?.coordinates,o=i(e),s=i(t);return!o||!s?!1:r.some(({kind:l,size:d},u)=>l!=="path"&&d>2&&Math.abs(o[u]-s[u])>1)}var dt=240,Fg=24*3600*1e3,Ig=250;function Pl(){let{status:a,at:n}=le(),[e,t]=Z(dt),[r,i]=Z(0),[o,s]=Z(0);oe(()=>{if(n||!a)return;let u=Date.now(),f=a.recorded_since?Date.parse(a.recorded_since):u;i(Math.min(u,Math.max(f,u-Fg))),s(u),t(dt)},[a,n]);let l=u=>new Date(Math.ceil(r+(o-r)*u/dt));oe(()=>{if(e===dt){n&&tn(void 0);return}let u=setTimeout(()=>tn(l(e).toISOString()),Ig);return()=>clearTimeout(u)},[e]);let d=e===dt?"now":l(e).toLocaleString(void 0,Wn);return c("div",{class:"history",children:[c("label",{children:["Time",c("input",{type:"range",disabled:!a?.recorded_since,min:"0",max:dt,value:e,"aria-valuetext":d,onInput:u=>t(Number(u.currentTarget.value))})]}),c("output",{children:d}),e!==dt&&c("button",{type:"button",onClick:()=>t(dt),children:"Now"})]})}function Fl({without:a,name:n,onPrediction:e}){let{answer:t,error:r}=Pe("whatif",{without:a});return oe(()=>e(t),[t]),r?c(ue,{error:r}):t?c($,{children:[c("h3",{children:["Without ",n]}),c(ni,{prediction:t}),c("p",{children:"Nothing has changed: this is a prediction."})]}):c("p",{role:"status",children:["Computing the routes without ",n,"…"]})}function ni({prediction:a}){let{cut_off:n,lose_redundancy:e,before:t,after:r,failure:i,changes:o,violations:s=[],sm_cut_off:l}=a;return c($,{children:[c("p",{children:n.total===0?c($,{children:[c(de,{kind:"ok",children:"safe"})," no host is cut off"]}):c($,{children:[c(de,{kind:"error",children:"cuts off"})," ",n.total," ",n.total===1?"host port":"host ports",": ",n.items.slice(0,8).map(d=>d.name).join(", "),n.total>8&&", …"]})}),l&&c("p",{children:[c(de,{kind:"error",children:"SM"})," the subnet manager itself would be cut off"]}),e.total>0&&c("p",{children:[c(de,{kind:"warning",children:"redundancy"})," ",e.total," ports would depend on one link"]}),i&&c("p",{children:[c(de,{kind:"error",children:"no routing"})," ",i]}),c("dl",{class:"facts",children:[r&&c($,{children:[c("dt",{children:"Busiest link"}),c("dd",{children:[t.busiest_routes," → ",r.busiest_routes," routes"]})]}),r&&c($,{children:[c("dt",{children:"Longest route"}),c("dd",{children:[t.hops," → ",r.hops," hops"]})]}),r&&c($,{children:[c("dt",{children:"Engine"}),c("dd",{children:t.engine===r.engine?r.engine:`${t.engine} → ${r.engine}`})]}),c("dt",{children:"Destinations moved"}),c("dd",{children:o.destinations_moved}),c("dt",{children:"LFT blocks written"}),c("dd",{children:o.lft_blocks})]}),s.map(d=>c("p",{children:[c(de,{kind:"error",children:["invariant ",d.name]})," ",d.text]},d.name))]})}function Il({onLosses:a,onSelect:n}){let{answer:e,error:t}=Pe("whatif/single-losses",{limit:2e3,where:"kind!=host-link"});if(oe(()=>a(e?.items),[e]),t)return c(ue,{error:t});if(!e)return c("p",{role:"status",children:"Computing what each loss would cut off…"});let r=e.items.filter(i=>i.cut_off>0);return c($,{children:[c("h3",{children:"Loss of one switch or link"}),c("p",{children:[r.length===0?`None of ${e.total} would cut off a host.`:`${r.length} of ${e.total} would cut off hosts.`," Links to hosts are not listed."]}),c("div",{class:"scroll",tabIndex:0,role:"region","aria-label":"Single losses",children:c("table",{children:[c("thead",{children:c("tr",{children:[c("th",{scope:"col",children:"Loss"}),c("th",{scope:"col",children:"Cuts off"}),c("th",{scope:"col",children:"Lose redundancy"})]})}),c("tbody",{children:e.items.slice(0,100).map(i=>c("tr",{children:[c("td",{children:c("button",{type:"button",class:"link",onClick:()=>n(i),children:i.name})}),c("td",{children:i.cut_off}),c("td",{children:i.lose_redundancy})]},i.without))})]})})]})}function Ml({kind:a,target:n,onClose:e,onPlan:t}){let[r,i]=Z(),[o,s]=Z(),[l,d]=Z(),[u,f]=Z(!1),[g,h]=Z(""),[p,y]=Z(""),m=a==="drain"?"drain":"ports/disable";oe(()=>{wt(m,{dry_run:!0},{target:n}).then(_=>{i(_),t(_.prediction)}).catch(_=>_ instanceof fe&&s(_))},[]);let v=async _=>{_.preventDefault(),f(!0),s(void 0);try{let x=p?Math.round(Number(p)*3600):void 0;d(await wt(m,{reason:g},{target:n,for_s:x})),tt()}catch(x){x instanceof fe&&s(x)}f(!1)},b=a==="drain"?"Drain":"Disable";return c(Ji,{title:a==="drain"?`Drain ${n}`:`Disable port ${n}`,onClose:e,children:[!r&&!o&&c("p",{role:"status",children:"Computing what it would do…"}),r?.prediction&&!l&&c(ni,{prediction:r.prediction}),o&&c(ue,{error:o}),l&&c("p",{role:"status",children:[c(de,{kind:"ok",children:l.state})," ",l.message]}),r&&!l&&c("form",{onSubmit:_=>{v(_)},children:[c("label",{children:["Reason, for the audit log ",c("input",{required:!0,maxLength:500,value:g,onInput:_=>h(_.currentTarget.value)})]}),c("label",{children:["Hours until it returns by itself; empty: until undone ",c("input",{type:"number",min:"0.1",step:"any",value:p,onInput:_=>y(_.currentTarget.value)})]}),c("div",{class:"actions",children:[c("button",{type:"submit",class:"primary",disabled:u,children:b}),c("button",{type:"button",onClick:e,children:"Cancel"})]})]}),(l||o&&!r)&&c("div",{class:"actions",children:c("button",{type:"button",onClick:e,children:"Close"})})]})}function Nl(){let{health:a,at:n}=le(),[e,t]=Z(),r=a?.maintenance??[],i=async o=>{try{t(void 0),await wt(o.kind==="disabled-port"?"ports/enable":"undrain",{},{target:o.name}),tt()}catch(s){s instanceof fe&&t(s)}};return c("section",{children:[c("h2",{children:"Maintenance"}),e&&c(ue,{error:e}),r.length===0?c("p",{children:["Nothing is out of service. Select a switch or link in the ",c("a",{href:"#/fabric",children:"fabric"})," to drain it."]}):c(Fe,{caption:"What is out of service",head:["What","State","Reason","Until",""],rows:r,row:o=>c("tr",{children:[c("td",{children:c("a",{href:`#/fabric?show=${encodeURIComponent(o.name)}`,children:o.name})}),c("td",{children:o.kind==="disabled-port"?"disabled":"drained"}),c("td",{children:o.reason}),c("td",{children:o.until?c(me,{at:o.until}):"a command ends it"}),c("td",{children:pt()&&!n&&c("button",{type:"button",onClick:()=>{i(o)},children:o.kind==="disabled-port"?"Enable":"Undrain"})})]},o.name)})]})}function qt(a,n){let e=new Set;for(let t of Mg(n)){let r=Ng(t);for(let i of a.nodes.values()){if(e.size>=5e3)break;r(i.name,i.guid,i.lids)&&e.add(i.guid)}}return[...e]}function Mg(a){return a.split(/,(?![^[]*\])/).map(e=>e.trim()).filter(e=>e!=="")}function Ng(a){let n=a.toLowerCase();if(/^0x[0-9a-f]{5,}$/.test(n)){let t=n.slice(2).padStart(16,"0");return(r,i)=>i.toLowerCase().slice(2).padStart(16,"0")===t}if(/^[0-9]+$/.test(n)){let t=Number(n);return(r,i,o)=>o.includes(t)||r.toLowerCase().includes(n)}let e=zg(n);if(e)return t=>{let r=t.toLowerCase();return e.has(r)||e.has(r.split(" ")[0])};if(n.includes("*")){let t=new RegExp(`^${n.split("*").map(Gg).join(".*")}$`);return r=>t.test(r.toLowerCase())}return t=>t.toLowerCase().includes(n)}function Gg(a){return a.replace(/[.*+?^${}()|[\]\\]/g,"\\$&")}function zg(a){if(!/\[[0-9,-]+\]/.test(a))return;let n=[""];for(let e of a.split(/(\[[0-9,-]+\])/)){let t=/^\[(.*)\]$/.exec(e)?.[1],r=t===void 0?[e]:[];for(let i of t?.split(",")??[]){let[o="",s=o]=i.split("-");for(let l=Number(o);l<=Number(s)&&r.length<=1e5;l+=1)r.push(String(l).padStart(o.length,"0"))}if(n.length*r.length>1e5)return;n=n.flatMap(i=>r.map(o=>i+o))}return new Set(n)}var Rn="roots",Ca=class{constructor(n,e,t){this.model=n;this.detail=e;this.open=t;this.hasGroups=Pa(n);let{structure:r}=n;this.roots=r?.kind==="tree"?r.switches.filter(i=>i.group===void 0).length:0}model;detail;open;hasGroups;roots;blockOf(n){let e=this.model.places.get(n);if(!e||!this.hasGroups)return;let t=e.group!==void 0?`group ${e.group}`:Rn;if(!(t===Rn&&this.roots<=24))return this.detail==="groups"!==this.open.has(t)?t:void 0}drawsHostsOf(n){return this.detail==="hosts"!==this.open.has(n)}};function Pa(a){return(a.structure?.groups??0)>1}function Gl(a){return a.nodes.size<=700?"hosts":[...a.nodes.values()].filter(e=>e.kind==="switch").length<=400||!Pa(a)?"switches":"groups"}function Fa(a){return a.structure?.kind==="tree"?"subtree":"group"}var zl="ferrosm-theme",ai=new Set,Ol=matchMedia("(prefers-color-scheme: dark)");function Ia(){let a=localStorage.getItem(zl);return a==="light"||a==="dark"?a:Ol.matches?"dark":"light"}function ri(){document.documentElement.dataset.theme=Ia();for(let a of ai)a()}function Wl(){localStorage.setItem(zl,Ia()==="dark"?"light":"dark"),ri()}Ol.addEventListener("change",ri);ri();function Ma(){let[a,n]=Z(Ia());return oe(()=>{let e=()=>n(Ia());return ai.add(e),()=>{ai.delete(e)}},[]),a}var Og=10;function Wg(a){let n=a.map(o=>o.at.y),e=n.every(o=>Math.abs(o-n[0])<1e-6),t=Math.ceil(a.length/Og);if(!e||t<2)return;let r=a.map(o=>o.at.x),i=(Math.max(...r)-Math.min(...r))/10;a.sort((o,s)=>o.at.x-s.at.x).forEach((o,s)=>{o.at.y-=s%t*i})}function Bg({name:a,guid:n}){return a.replace(/ (mlx[45]_0|HCA-1)$/,"")||n}function Bl(a,n,e){let t=new Map,r=new Map,i=(s,l,d,u)=>{let f=t.get(s);f||(f={key:s,kind:l,label:d,nodes:[],hosts:0,at:{x:0,y:0}},t.set(s,f)),f.nodes.push(u),r.set(u,s)};for(let s of a.switches()){let l=e.blockOf(s);if(l!==void 0){let d=l===Rn?`${e.roots} roots`:`${Fa(a)} ${a.places.get(s).group}`;i(l,"block",d,s)}else i(s,"switch",a.name(s),s)}for(let s of a.nodes.values()){if(r.has(s.guid))continue;let l=a.homeOf.get(s.guid),d=l===void 0?void 0:r.get(l),u=d===void 0?void 0:t.get(d);u===void 0||u.kind==="switch"&&e.drawsHostsOf(l)?i(s.guid,"host",Bg(s),s.guid):(r.set(s.guid,u.key),u.hosts+=1)}for(let s of t.values())for(let l of s.nodes){let d=n.get(l)??{x:0,y:0};s.at.x+=d.x/s.nodes.length,s.at.y+=d.y/s.nodes.length}Wg([...t.values()].filter(s=>s.kind==="block"&&s.key!==Rn));let o=new Map;return a.links.forEach((s,l)=>{let d=[r.get(s.a.guid),r.get(s.b.guid)];if(d[0]===d[1])return;let[u,f]=d.sort(),g=`${u} ${f}`,h=o.get(g);h?h.links.push(l):o.set(g,{key:g,a:u,b:f,links:[l]})}),{items:t,bundles:o,itemOf:r}}function Hl({show:a,find:n}){let{model:e,fabricError:t,load:r,alarms:i,status:o,at:s}=le(),l=Ma(),[d,u]=Z(),[f,g]=Z("state"),[h,p]=Z(new Set),[y,m]=Z(),[v,b]=Z({from:"",to:""}),[_,x]=Z(),[T,S]=Z(),[A,E]=Z(),[k,D]=Z(),[C,R]=Z(),F=d??(e?Gl(e):"switches"),L=Xe(()=>{if(!e)return;let H=new Ca(e,F,h);return Bl(e,Tl(e,H),H)},[e,F,h]),M=Xe(()=>e?Ul(y,e,{path:_,prediction:T,losses:A}):void 0,[e,y,_,T,A]),G=Xe(()=>{if(!e)return;let H=i.filter(ae=>ae.state==="active"&&!s&&!ae.object.name.includes(" - "));return new La(e,f,r,new Set(H.map(ae=>ae.object.guid)),M,Al())},[e,f,r,i,M,l,s]),N=Xe(()=>e&&r?ei(e,r):void 0,[e,r]),I=H=>D({nodes:H}),P=H=>m({kind:"selection",key:H}),z=H=>{if(!L||!e)return;let ae=H.link===void 0?[H.node]:[e.links[H.link].a.guid,e.links[H.link].b.guid],We=ae.map(xe=>L.itemOf.get(xe)).filter(xe=>xe!==void 0),Ce=We.filter((xe,Ga)=>xe!==ae[Ga]);if(Ce.length>0)p(xe=>new Set([...xe,...Ce])),H.node!==void 0?P(H.node):P(`link ${H.link}`);else{let xe=[...We].sort().join(" ");P(H.link===void 0?We[0]:L.bundles.get(xe)?.links.length===1?xe:`link ${H.link}`)}I(ae)},V={show:z,toggle:H=>{let ae=L?.items.get(H);p(We=>{let Ce=new Set(We);return Ce.delete(H)||Ce.add(H),Ce}),ae?.kind==="block"&&I(ae.nodes)},whatIf:H=>m({kind:"what-if",without:H}),maintain:(H,ae)=>R({kind:H,target:ae}),pathFrom:H=>b(ae=>({...ae,from:H})),pathTo:H=>b(ae=>({...ae,to:H}))};if(oe(()=>{a&&e&&L&&z(e.find(a))},[a,L===void 0]),oe(()=>{n&&m({kind:"found",text:n})},[n]),oe(()=>{let H=y?.kind==="path"&&e&&Ul(y,e,{path:_});H&&I([...H.nodes.keys()])},[_?.from.guid,_?.to.guid,y?.kind]),t&&!e)return c("div",{class:"empty",children:[c(nn,{}),c(ue,{error:t})]});if(!e||!L||!G)return c("p",{role:"status",children:"Asking the service…"});if(e.nodes.size===0)return c("div",{class:"empty",children:c(nn,{})});let j=H=>{!H||!C||(S(H),m({kind:"plan",target:C.target}))},Q=()=>{m(void 0),C&&z(e.find(C.target)),R(void 0)},q=G.legend(),Y=e.structure?.summary??"structure not known",Ae=Fa(e);return c("div",{class:"fabric",children:[c("h2",{class:"visually-hidden",children:"Fabric"}),c("form",{class:"tools",onSubmit:H=>{H.preventDefault(),v.from&&v.to&&m({kind:"path",...v})},"aria-label":"Drawing",children:[c("label",{children:["Show",c("select",{value:F,onChange:H=>{u(H.currentTarget.value),p(new Set)},children:[Pa(e)&&c("option",{value:"groups",children:[Ae,"s"]}),c("option",{value:"switches",children:"switches"}),c("option",{value:"hosts",children:"switches and hosts"})]})]}),c("label",{children:["Colour",c("select",{value:f,onChange:H=>{let ae=H.currentTarget.value;g(ae),ae==="load"&&Yi()},children:[c("option",{value:"state",children:"state"}),c("option",{value:"load",children:"load (routes)"}),c("option",{value:"speed",children:"speed"})]})]}),c("span",{class:"pair",children:[c("label",{children:["Path from ",c("input",{list:"names",value:v.from,onInput:H=>b({...v,from:H.currentTarget.value})})]}),c("label",{children:["to ",c("input",{list:"names",value:v.to,onInput:H=>b({...v,to:H.currentTarget.value})})]}),c("button",{type:"submit",disabled:!v.from||!v.to,children:"Show path"})]}),c("button",{type:"button",disabled:s!==void 0,title:"What each single switch and link would cut off",onClick:()=>m({kind:"single-losses"}),children:"N-1"}),h.size>0&&c("button",{type:"button",onClick:()=>p(new Set),children:"Collapse all"}),c("datalist",{id:"names",children:[...e.nodes.values()].filter(H=>H.kind!=="switch").slice(0,2e3).map(H=>c("option",{value:H.name},H.guid))})]}),c("div",{class:"with-panel",children:[c(Cl,{model:e,view:L,painter:G,selected:y?.kind==="selection"?y.key:void 0,onItem:H=>{L.items.get(H)?.kind==="block"&&y?.kind==="selection"&&y.key===H&&V.toggle(H),P(H)},onBundle:P,onNothing:()=>m(void 0),focus:k,label:`Drawing of the fabric, ${Y}`}),c("aside",{class:"panel","aria-label":"Details","aria-live":"polite",children:[y&&c("button",{type:"button",class:"close","aria-label":"Close details",onClick:()=>m(void 0),children:"×"}),!y&&c($,{children:[c("h3",{children:Y}),c("p",{children:o?.fabric?`${o.fabric.switches} switches, ${o.fabric.cas} hosts, ${o.fabric.links} links`:""}),c("p",{children:["Select a switch, host or link for details.",F==="groups"&&` Select a ${Ae} twice to open it.`]})]}),y?.kind==="selection"&&c(Hg,{panelKey:y.key,model:e,view:L,routes:N,actions:V}),y?.kind==="path"&&c(to,{from:y.from,to:y.to,onPath:x}),y?.kind==="what-if"&&c(Fl,{without:y.without,name:e.nodes.get(y.without)?.name??y.without,onPrediction:S}),y?.kind==="plan"&&c("p",{children:["The drawing shows what the plan for ",y.target," would do."]}),y?.kind==="single-losses"&&c(Il,{onLosses:E,onSelect:H=>m({kind:"what-if",without:H.without})}),y?.kind==="found"&&c($g,{model:e,text:y.text,actions:V})]})]}),c("div",{class:"below",children:[c("ul",{class:"legend","aria-label":"Colours",children:[q.items.map(({color:H,text:ae})=>c("li",{children:[c(Ug,{color:H})," ",ae]},ae)),q.text&&c("li",{children:q.text})]}),c(Pl,{})]}),C&&c(Ml,{...C,onClose:Q,onPlan:j})]})}function Ug({color:a}){return c("svg",{class:"swatch",viewBox:"0 0 10 10","aria-hidden":"true",children:c("rect",{width:"10",height:"10",rx:"2",fill:a})})}function Hg({panelKey:a,model:n,view:e,routes:t,actions:r}){let i=e.items.get(a);if(i)return c(eo,{model:n,item:i,actions:r});let o=e.bundles.get(a);if(o)return c(rr,{model:n,view:e,bundle:o,routes:t,actions:r});let s=/^link ([0-9]+)$/.exec(a)?.[1];return s!==void 0?c(rr,{model:n,view:e,bundle:{key:"",a:"",b:"",links:[Number(s)]},routes:t,actions:r}):c("p",{children:"This is not drawn now."})}function $g({model:a,text:n,actions:e}){let t=Xe(()=>qt(a,n),[a,n]);return c($,{children:[c("h3",{children:t.length===0?`Nothing matches “${n}”`:`${t.length} found`}),t.length===0&&c("p",{children:["Search for a part of a name, a pattern (",c("code",{children:"leaf-*"}),"), a host list (",c("code",{children:"gpu[01-16]"}),"), a GUID or a LID."]}),c("ul",{class:"plain short",children:t.slice(0,200).map(r=>c("li",{children:[c("button",{type:"button",class:"link",onClick:()=>e.show({node:r}),children:a.name(r)})," ",a.nodes.get(r).kind==="switch"?"switch":a.nodes.get(r).location]},r))})]})}function Ul(a,n,e){let t=new Map,r=new Map,i=(o,s)=>{let{node:l,link:d}=n.find(o);l!==void 0&&t.set(l,s),d!==void 0&&r.set(d,s)};if(a?.kind==="path"&&e.path){let{from:o,to:s,hops:l}=e.path;for(let{guid:d,in_port:u,out_port:f}of l){t.set(d,"path");for(let g of[u,f]){let h=n.linkAt(d,g);h!==void 0&&(r.set(h,"path"),t.set(n.otherEnd(h,d),"path"))}}for(let d of[o,s])i(d.name,"path");return{title:"path",nodes:t,links:r}}if((a?.kind==="what-if"||a?.kind==="plan")&&e.prediction){let{lost:o,cut_off:s,switches_cut_off:l,lose_redundancy:d}=e.prediction;for(let u of d.items)i(u.name,"at-risk");for(let u of s.items)i(u.name,"cut-off");for(let u of l)i(u,"cut-off");for(let u of o)i(u,"lost");for(let[u,f]of t)if(f==="lost")for(let g of n.linksOf.get(u)??[])r.set(g,"lost");return{title:"what-if",nodes:t,links:r}}if(a?.kind==="single-losses"&&e.losses){for(let o of e.losses)o.cut_off>0&&o.kind!=="host-link"?i(o.without,"cut-off"):o.lose_redundancy>0&&o.kind!=="host-link"&&i(o.without,"at-risk");return{title:"single losses",nodes:t,links:r}}if(a?.kind==="found"){let o=qt(n,a.text);if(o.length===0)return;for(let s of o)t.set(s,"found");return{title:"found",nodes:t,links:r}}}var Na=a=>`#/fabric?show=${encodeURIComponent(a)}`;function $l(){let{model:a}=le();return a?c(Vg,{model:a}):c("p",{role:"status",children:"No fabric yet."})}function Vg({model:a}){let[n,e]=Z(""),t=Xe(()=>{let r=n?qt(a,n):[...a.nodes.keys()],i=new Intl.Collator(void 0,{numeric:!0});return r.sort((o,s)=>i.compare(a.name(o),a.name(s)))},[a,n]);return c("section",{children:[c("h2",{children:"Nodes"}),c("label",{class:"filter",children:["Filter ",c("input",{type:"search",placeholder:"name, leaf-*, gpu[01-16], GUID, LID",value:n,onInput:r=>e(r.currentTarget.value)})]}),c("p",{role:"status",children:[t.length," nodes"]}),c(Fe,{caption:"Nodes",head:["Name","Kind","State","LIDs","Location","Ports linked","GUID"],rows:t,row:r=>{let i=a.nodes.get(r);return c("tr",{children:[c("td",{children:c("a",{href:Na(r),children:i.name||r})}),c("td",{children:i.kind==="ca"?"host":i.kind}),c("td",{children:c(de,{kind:i.state==="present"?"ok":"error",children:i.state})}),c("td",{children:i.lids.join(", ")}),c("td",{children:i.location}),c("td",{children:[i.ports_linked," of ",i.ports]}),c("td",{children:c("code",{children:r})})]},r)}})]})}function Vl(){let{model:a}=le(),[n,e]=Z(!1),[t,r]=Z("");if(!a)return c("p",{role:"status",children:"No fabric yet."});let i=t?new Set(qt(a,t)):void 0,o=a.links.filter(s=>(!n||s.state!=="up"||s.maintenance)&&(!i||i.has(s.a.guid)||i.has(s.b.guid)));return c("section",{children:[c("h2",{children:"Links"}),c("label",{class:"filter",children:["Filter by node ",c("input",{type:"search",value:t,onInput:s=>r(s.currentTarget.value)})]}),c("label",{class:"filter",children:[c("input",{type:"checkbox",checked:n,onChange:s=>e(s.currentTarget.checked)})," only those that are not up"]}),c("p",{role:"status",children:[o.length," links"]}),c(Fe,{caption:"Links",head:["Link","State","Rate","Possible","Since","Went down","Note"],rows:o,row:s=>c("tr",{children:[c("td",{children:c("a",{href:Na(`${s.a.guid}/${s.a.port}`),children:et(s)})}),c("td",{children:c(an,{link:s})}),c("td",{children:s.rate||"–"}),c("td",{children:s.possible_rate||"–"}),c("td",{children:s.since?c(me,{at:s.since}):"–"}),c("td",{children:s.times_down}),c("td",{children:s.note})]},et(s))})]})}function jl(){let{answered:a,events:n}=le(),[e,t]=Z(0),{answer:r,error:i}=Pe("alarms",{limit:1e3},e+(n[0]?.number??0)),[o,s]=Z();if(i)return c(ue,{error:i});let l=async d=>{let u=prompt(`Acknowledge alarm ${d.id} (${d.object.name}). Reason, for the audit log:`);if(u!==null)try{s(void 0),await wt(`alarms/${d.id}/ack`,{reason:u}),t(e+1),tt()}catch(f){f instanceof fe&&s(f)}};return c("section",{children:[c("h2",{children:"Alarms"}),o&&c(ue,{error:o}),r?.items.length===0&&c("p",{children:["No alarm",a?.role!=="master"&&". The master has the alarms of the fabric","."]}),r&&r.items.length>0&&c(Fe,{caption:"Alarms",head:["No.","Severity","State","Where","What","Raised","Times",""],rows:r.items,row:d=>c("tr",{class:d.state,children:[c("td",{children:d.id}),c("td",{children:c(de,{kind:d.severity,children:d.severity})}),c("td",{children:[d.state,d.acknowledged&&` by ${d.acknowledged.by}`]}),c("td",{children:c("a",{href:Na(d.object.name),children:d.object.name})}),c("td",{children:[d.text,d.cause!==void 0&&` (because of alarm ${d.cause})`]}),c("td",{children:[c(me,{at:d.raised_at}),d.cleared_at&&c($,{children:[", cleared ",c(me,{at:d.cleared_at})]})]}),c("td",{children:d.occurrences}),c("td",{children:d.state==="active"&&pt()&&c("button",{type:"button",onClick:()=>{l(d)},children:"Acknowledge"})})]},d.id)})]})}var ii=["debug","info","warning","error"];function Xl(){let{events:a,isLive:n}=le(),[e,t]=Z("info"),r=a.filter(i=>ii.indexOf(i.severity)>=ii.indexOf(e));return c("section",{children:[c("h2",{children:"Events"}),c("label",{class:"filter",children:["At least",c("select",{value:e,onChange:i=>t(i.currentTarget.value),children:ii.slice(1).map(i=>c("option",{children:i},i))})]}),c("p",{role:"status",children:n?"New events appear as they happen.":"Not connected: trying again."}),c(Fe,{caption:"Events, the newest first",head:["Time","Severity","What"],rows:r,row:i=>c("tr",{children:[c("td",{children:c(me,{at:i.at})}),c("td",{children:c(de,{kind:i.severity,children:i.severity})}),c("td",{children:c(Bn,{event:i})})]},i.number)})]})}function ql(){let{at:a}=le(),{answer:n,error:e}=Pe("limits",{at:a}),{answer:t}=Pe("sms",{at:a});return c("section",{children:[c("h2",{children:"Limits"}),e&&c(ue,{error:e}),n&&c(Fe,{caption:"Limits",head:["Resource","Used","Limit","","Limited by"],rows:n.items,row:r=>c("tr",{children:[c("td",{children:r.resource}),c("td",{children:r.used}),c("td",{children:r.limit}),c("td",{children:c("meter",{min:0,max:r.limit,high:r.limit*.75,value:r.used,"aria-label":`${r.resource}: ${r.used} of ${r.limit}`})}),c("td",{children:r.limited_by||"–"})]},r.resource)}),c("h2",{children:"Subnet managers"}),t&&c(Fe,{caption:"Subnet managers",head:["Port","Location","State","Priority"],rows:t.items,row:r=>c("tr",{children:[c("td",{children:[r.port.name||r.port.guid,r.is_self&&" (this one)"]}),c("td",{children:r.port.location}),c("td",{children:r.state}),c("td",{children:r.priority})]},r.port.guid)})]})}function Kl(){let{at:a}=le(),[n,e]=Z(),{answer:t,error:r}=Pe("partitions",{at:a});return r?c(ue,{error:r}):c("section",{children:[c("h2",{children:"Partitions"}),t&&c(Fe,{caption:"Partitions",head:["P_Key","Name","Full members","Limited members","Defined by",""],rows:t.items,row:i=>c("tr",{children:[c("td",{children:c("code",{children:i.number})}),c("td",{children:i.name||"–"}),c("td",{children:i.full}),c("td",{children:i.limited}),c("td",{children:i.added?"a command":i.name?"the configuration":"nothing: ports have the P_Key"}),c("td",{children:c("button",{type:"button","aria-expanded":n===i.number,onClick:()=>e(n===i.number?void 0:i.number),children:"Members"})})]},i.number)}),n&&c(Zl,{title:`Members of ${n}`,resource:`partitions/${encodeURIComponent(n)}/members`})]})}function Yl(){let[a,n]=Z(),{answer:e,error:t}=Pe("groups",{limit:1e4});return t?c("section",{children:[c("h2",{children:"Multicast groups"}),c(ue,{error:t})]}):c("section",{children:[c("h2",{children:"Multicast groups"}),e?.items.length===0&&c("p",{children:"No group: hosts create them, with IPoIB for example."}),e&&e.items.length>0&&c(Fe,{caption:"Multicast groups",head:["MGID","MLID","P_Key","MTU","Rate","Members","Switches",""],rows:e.items,row:r=>c("tr",{children:[c("td",{children:c("code",{children:r.mgid})}),c("td",{children:r.mlid}),c("td",{children:r.p_key}),c("td",{children:r.mtu}),c("td",{children:[r.rate_gbps," Gb/s"]}),c("td",{children:r.members}),c("td",{children:r.switches}),c("td",{children:c("button",{type:"button","aria-expanded":a===r.mgid,onClick:()=>n(a===r.mgid?void 0:r.mgid),children:"Members"})})]},r.mgid)}),a&&c(Zl,{title:`Members of ${a}`,resource:`groups/${encodeURIComponent(a)}/members`})]})}function Zl({title:a,resource:n}){let{answer:e,error:t}=Pe(n,{limit:1e4});return t?c(ue,{error:t}):e?c($,{children:[c("h3",{children:a}),c("p",{children:[e.total," members"]}),c(Fe,{caption:a,head:["Name","Location","Membership","GUID"],rows:e.items,row:r=>c("tr",{children:[c("td",{children:c("a",{href:Na(r.name),children:r.name})}),c("td",{children:r.location}),c("td",{children:r.membership??r.join}),c("td",{children:c("code",{children:r.guid})})]},r.guid)})]}):c("p",{role:"status",children:"Asking…"})}function Ql(){let{status:a,health:n,alarms:e,events:t,error:r,model:i,at:o}=le();if(r&&!a)return c(ue,{error:r});if(!a||!n)return c("p",{role:"status",children:"Asking the service…"});let{fabric:s,last_sweep:l}=a,d=e.filter(u=>u.state==="active"&&u.cause===void 0);return c("div",{class:"overview",children:[c("section",{class:`card state ${n.state}`,"aria-labelledby":"health-title",children:[c("h2",{id:"health-title",children:"Health"}),c("p",{class:"big",children:n.state.toUpperCase()}),c("p",{children:n.summary}),n.findings.length>0&&c("ul",{class:"findings",children:n.findings.slice(0,20).map(u=>c("li",{children:[c("span",{class:u.severe?"mark bad":"mark warn","aria-label":u.severe?"severe":"minor",children:u.severe?"!":"~"}),c("a",{href:`#/fabric?show=${encodeURIComponent(u.location)}`,children:u.location}),": ",u.text,u.since&&c($,{children:[" since ",c(me,{at:u.since})]})]},`${u.kind} ${u.location}`))}),n.findings.length>20&&c("p",{children:["and ",n.findings.length-20," more: ",c("code",{children:"ferrosm health"})]})]}),c(nn,{}),c("section",{class:"card","aria-labelledby":"size-title",children:[c("h2",{id:"size-title",children:"Fabric"}),s?c("dl",{class:"numbers",children:[c("div",{children:[c("dt",{children:"switches"}),c("dd",{children:s.switches})]}),c("div",{children:[c("dt",{children:"hosts"}),c("dd",{children:s.cas})]}),s.routers>0&&c("div",{children:[c("dt",{children:"routers"}),c("dd",{children:s.routers})]}),c("div",{children:[c("dt",{children:"links"}),c("dd",{children:s.links})]})]}):c("p",{children:"Not discovered yet."}),i?.structure&&c("p",{children:i.structure.summary}),s&&c("p",{children:c("a",{href:"#/fabric",children:"Show it"})})]}),c("section",{class:"card","aria-labelledby":"sm-title",children:[c("h2",{id:"sm-title",children:"Subnet manager"}),c("dl",{class:"facts",children:[c("dt",{children:"Activity"}),c("dd",{"aria-live":"polite",children:o?"–":a.activity}),c("dt",{children:"Port"}),c("dd",{children:a.port?`${a.port.name} (${a.port.location})`:"none"}),c("dt",{children:"Priority"}),c("dd",{children:a.priority}),c("dt",{children:"Role since"}),c("dd",{children:[c(me,{at:a.role_since})," (",a.role_reason,")"]}),l&&c($,{children:[c("dt",{children:"Last sweep"}),c("dd",{children:[l.number,", ",l.kind,", ",(l.took_us/1e3).toFixed(0)," ms, ",l.smps," SMPs, at ",c(me,{at:l.at})]})]}),l&&l.engine!==""&&c($,{children:[c("dt",{children:"Engine"}),c("dd",{children:l.engine})]}),c("dt",{children:"Version"}),c("dd",{children:["ferrosm ",a.version,", started ",c(me,{at:a.started_at}),"; ",c("a",{href:"licenses.txt",children:"licences of this page"})]})]})]}),c("section",{class:"card","aria-labelledby":"alarms-title",children:[c("h2",{id:"alarms-title",children:"Alarms"}),d.length===0?c("p",{children:"None."}):c("ul",{class:"plain",children:d.slice(0,8).map(u=>c("li",{children:[c(de,{kind:u.severity,children:u.severity})," ",u.object.name,": ",u.text]},u.id))}),c("p",{children:c("a",{href:"#/alarms",children:"All alarms"})})]}),c("section",{class:"card wide","aria-labelledby":"events-title",children:[c("h2",{id:"events-title",children:"Last events"}),c("ol",{class:"plain events",children:t.slice(0,8).map(u=>c("li",{children:[c(me,{at:u.at})," ",c(de,{kind:u.severity,children:u.severity})," ",c(Bn,{event:u})]},u.number))}),c("p",{children:c("a",{href:"#/events",children:"All events"})})]})]})}var oi=[["overview","Overview"],["fabric","Fabric"],["nodes","Nodes"],["links","Links"],["alarms","Alarms"],["events","Events"],["maintenance","Maintenance"],["partitions","Partitions"],["groups","Groups"],["limits","Limits"]];function Jl(){let[a="",n=""]=location.hash.replace(/^#\/?/,"").split("?"),e=oi.find(([r])=>r===a)?.[0]??"overview",t=new URLSearchParams(n);return{view:e,show:t.get("show")??void 0,find:t.get("find")??void 0}}function jg(){let[a,n]=Z(Jl());return oe(()=>{let e=()=>n(Jl());return addEventListener("hashchange",e),()=>removeEventListener("hashchange",e)},[]),a}function Xg(){let{session:a,loginError:n}=le();return a===void 0&&!n?c("p",{role:"status",children:"…"}):a?c(qg,{}):c("main",{class:"login",children:[c("h1",{children:"ferrosm"}),n&&c(ue,{error:n}),c("h2",{children:"Open this page with a link"}),c("ol",{children:[c("li",{children:["On the host of the service, as root, as the user of the service or as a member of the group ferrosm: ",c("pre",{children:"ferrosm web login"})]}),c("li",{children:"Open the link that it prints. It has your role, and works once, within 5 minutes."}),c("li",{children:["From another computer, first open the tunnel that the command prints: ",c("pre",{children:"ssh -L 7475:127.0.0.1:7475 HOST"})]})]})]})}function qg(){let{status:a,answered:n,health:e,alarms:t,session:r,error:i,isLive:o,at:s,modelAt:l}=le(),{view:d,show:u,find:f}=jg(),g=Ma(),[h,p]=Z(""),y=oi.find(([_])=>_===d)[1];oe(()=>{let _=e?`${e.state}: `:"";document.title=`${_}${y} – ferrosm`},[y,e?.state]);let m=t.filter(_=>_.state==="active"&&_.cause===void 0).length,v=_=>{_.preventDefault(),h.trim()&&(location.hash=`#/fabric?find=${encodeURIComponent(h.trim())}`)},b=async()=>{await Wi(),Qi()};return c($,{children:[c("a",{class:"skip",href:"#main",onClick:_=>{_.preventDefault(),document.getElementById("main")?.focus()},children:"Skip to the content"}),c("header",{children:[c("h1",{children:c("a",{href:"#/overview",children:"ferrosm"})}),e&&c(de,{kind:e.state,children:e.state}),n&&c("span",{class:"role",children:[n.role,a?.port&&` at ${a.port.name}`]}),a&&!s&&c("span",{class:"activity",title:"What the SM is doing",children:a.activity}),c("form",{role:"search",onSubmit:v,children:[c("input",{type:"search","aria-label":"Search by name, pattern, host list, GUID or LID",placeholder:"Search: name, leaf-*, gpu[01-16], GUID, LID",value:h,onInput:_=>p(_.currentTarget.value)}),c("button",{type:"submit",children:"Search"})]}),c("span",{class:o?"live on":"live",title:o?"Events arrive as they happen":"Not connected: trying again",children:o?"live":"offline"}),c("button",{type:"button",onClick:Wl,children:g==="dark"?"Light":"Dark"}),c("span",{class:"user",children:[r.user,", ",r.role]}),c("button",{type:"button",onClick:()=>{b()},children:"Log out"})]}),c("nav",{"aria-label":"Views",children:oi.map(([_,x])=>c("a",{href:`#/${_}`,"aria-current":_===d?"page":void 0,children:[x,_==="alarms"&&m>0&&c("span",{class:"count",children:[" ",m]})]},_))}),c("main",{id:"main",tabIndex:-1,children:[i&&c(ue,{error:i}),s&&c("p",{class:"past",role:"status",children:[l===s?"The fabric as of":"Asking for the fabric as of"," ",c(me,{at:s}),". Alarms, events and groups are those of now. ",c("button",{type:"button",onClick:()=>tn(void 0),children:"Show it now"})]}),d==="overview"&&c(Ql,{}),d==="fabric"&&c(Hl,{show:u,find:f}),d==="nodes"&&c($l,{}),d==="links"&&c(Vl,{}),d==="alarms"&&c(jl,{}),d==="events"&&c(Xl,{}),d==="maintenance"&&c(Nl,{}),d==="partitions"&&c(Kl,{}),d==="groups"&&c(Yl,{}),d==="limits"&&c(ql,{})]})]})}Ti(c(Xg,{}),document.getElementById("app"));Zi();})();
/*! Bundled license information:

sigma/dist/edge-data-texture-e4fbbc22.esm.js:
  (*! regenerator-runtime -- Copyright (c) 2014-present, Facebook, Inc. -- license (MIT): https://github.com/babel/babel/blob/main/packages/babel-helpers/LICENSE *)
*/
